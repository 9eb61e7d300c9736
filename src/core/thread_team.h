// Threads that help the calling thread, which does all of the work itself unless others come in time. A helper that the
// system does not run delays only what it has begun; one that cannot start is not needed. None spins for longer than a
// thread takes to wake up, and none outlives its team.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/first_failure.h"
#include "core/monitor.h"

namespace libknng {

class ThreadTeam {
 public:
  // Of so many members, the calling thread among them; the others start when they are first wanted.
  explicit ThreadTeam(int size) noexcept : size_(size) {}
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const noexcept { return size_; }

  // Calls work(member) here, as member 0, and meanwhile on members 1 to members - 1 as far as they come; returns when
  // all that began are done. So any one of them must be able to do all: they take pieces from a queue. The first
  // exception of any comes out of here. One call at a time.
  template <class F>
  void run(F&& work, int members = INT32_MAX) {
    members = std::min(members, size_);
    if (members <= 1) return work(0);
    gather(std::ref(work), members);
  }

  // Calls f(member, begin, end) for all pieces of [0, count), of `grain` each but the last. After a failure only what
  // was begun is done.
  template <class F>
  void for_each(std::int64_t count, std::int64_t grain, F&& f, int members = INT32_MAX) {
    std::atomic<std::int64_t> next{0};
    const std::int64_t pieces = count / grain + (count % grain != 0);
    const auto work = [&](int member) {
      for (;;) {
        const std::int64_t piece = failed() ? pieces : next.fetch_add(1, std::memory_order_relaxed);
        if (piece >= pieces) return;
        f(member, piece * grain, std::min(count, (piece + 1) * grain));
      }
    };
    run(work, static_cast<int>(std::min<std::int64_t>(pieces, members)));
  }

  // The same for work that is followed and stopped: each piece counts as progress. Throws KNNG_ERR_CANCELLED.
  template <class F>
  void for_each(Monitor& monitor, std::int64_t count, std::int64_t grain, F&& f, int members = INT32_MAX) {
    const auto piece = [&](int member, std::int64_t begin, std::int64_t end) {
      if (monitor.stopped()) return;
      f(member, begin, end);
      monitor.advance(static_cast<double>(end - begin));
    };
    for_each(count, grain, piece, members);
    monitor.check();
  }

 private:
  using Work = std::function<void(int)>;
  struct Helper {
    std::atomic<bool> ends{false};  // it takes the mutex no more
    std::thread thread;
  };

  void gather(const Work& work, int members);
  using Helpers = std::vector<Helper>;  // that start together

  void start(int members) noexcept;
  void start(std::span<Helper> helpers) noexcept;
  bool moves() const noexcept { return helper_count_ < kMovedTogether; }
  void help(Helper& self) noexcept;
  void do_part(const Work& work, int member) noexcept;
  bool failed() const noexcept { return failure_ && failure_->happened(); }

  // Members of a team up to which helpers are moved to other processors. In larger ones few wait behind the caller, and
  // a move takes the caller some microseconds for each; it was measured with two.
  static constexpr int kMovedTogether = 4;
  // So few helpers one thread starts in a row; the caller may look at them while it does.
  static constexpr int kFewStarted = 4;
  static_assert(kMovedTogether <= kFewStarted);

  const int size_;
  std::list<Helpers> helpers_;
  int helper_count_ = 0;
  std::mutex mutex_;
  std::condition_variable called_, done_;
  // Under the mutex, but for those who take part:
  const Work* work_ = nullptr;       // null: nobody is wanted
  FirstFailure* failure_ = nullptr;  // of the call
  int members_ = 0, joined_ = 0;
  bool ends_ = false;
  // Watched for a moment by who would sleep:
  std::atomic<std::uint32_t> calls_{0};
  std::atomic<int> busy_{0};
};

// As many as the program may run on, or OMP_NUM_THREADS, which programs that share a machine set.
int default_threads() noexcept;

}  // namespace libknng
