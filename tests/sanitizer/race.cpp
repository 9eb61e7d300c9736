// For the thread sanitizer's own test: the same sharing between the members of a team, ordered by its end (no report
// wanted) or not ordered at all (a report wanted).
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#include "core/thread_team.h"

int main(int argc, char** argv) {
  const bool ordered = argc > 1 && std::strcmp(argv[1], "ordered") == 0;
  constexpr int size = 2, rounds = 1000;
  libknng::ThreadTeam team(size);
  std::int64_t shared[size] = {0, 0}, seen = 0, pieces[size] = {0, 0};
  // A round has one piece for each member. Whoever holds one waits for the other member, so that both touch the shared
  // value in the same round however busy the processors are. Relaxed counting orders nothing.
  std::atomic<int> arrived{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  for (int round = 0; round < rounds; ++round) {
    team.for_each(size, 1, [&](int member, std::int64_t, std::int64_t) {
      arrived.fetch_add(1, std::memory_order_relaxed);
      while (arrived.load(std::memory_order_relaxed) < size * (round + 1) && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      ++pieces[member];
      ++shared[ordered ? member : 0];
    });
    seen += shared[0] + shared[1];
  }
  std::printf("%lld %lld %lld: %lld and %lld pieces\n", static_cast<long long>(shared[0]),
              static_cast<long long>(shared[1]), static_cast<long long>(seen), static_cast<long long>(pieces[0]),
              static_cast<long long>(pieces[1]));
  return pieces[0] == rounds && pieces[1] == rounds ? 0 : 2;
}
