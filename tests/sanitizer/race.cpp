// For the thread sanitizer's own test: the same sharing between the members of a team, ordered by its end (no report
// wanted) or not ordered at all (a report wanted).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "core/thread_team.h"

int main(int argc, char** argv) {
  const bool ordered = argc > 1 && std::strcmp(argv[1], "ordered") == 0;
  constexpr int size = 2, rounds = 1000;
  libknng::ThreadTeam team(size);
  std::int64_t shared[size] = {0, 0}, seen = 0, pieces[size] = {0, 0};
  // The second member may be late where processors are busy: go on until it has done something.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int round = 0; round < rounds || (pieces[1] == 0 && std::chrono::steady_clock::now() < end); ++round) {
    team.for_each(2 * size, 1, [&](int member, std::int64_t, std::int64_t) {
      ++pieces[member];
      ++shared[ordered ? member : 0];
    });
    seen += shared[0] + shared[1];
  }
  std::printf("%lld %lld %lld: %lld and %lld pieces\n", static_cast<long long>(shared[0]),
              static_cast<long long>(shared[1]), static_cast<long long>(seen), static_cast<long long>(pieces[0]),
              static_cast<long long>(pieces[1]));
  return pieces[1] == 0 ? 2 : 0;
}
