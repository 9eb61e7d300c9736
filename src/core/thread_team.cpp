#include "core/thread_team.h"

#include <sched.h>

#include <cstdlib>

#include "core/float_env.h"
#include "core/other_processor.h"
#include "core/signals_blocked.h"

namespace libknng {
namespace {

// Looks for what is about to come, some 20 us while nobody else wants the processor. Whether it came.
template <class Came>
bool look_for(Came&& came) noexcept {
  constexpr int kLooks = 50;
  for (int i = 0; i < kLooks; ++i) {
    if (came()) return true;
    std::this_thread::yield();
  }
  return came();
}

}  // namespace

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    calls_.fetch_add(1);
  }
  called_.notify_all();
  for (Helpers& together : helpers_)
    for (Helper& helper : together) {
      if (!helper.thread.joinable()) continue;  // it was started by one before it, or not at all
      if (moves() && !look_for([&] { return helper.ends.load(); })) {
        // It waits behind another program, perhaps, and this thread needs no processor any more. Who has not had the
        // mutex is there to be moved.
        const std::lock_guard lock(mutex_);
        if (!helper.ends.load()) move_to_this_processor(helper.thread);
      }
      helper.thread.join();
    }
}

void ThreadTeam::do_part(const Work& work, int member) noexcept {
  try {
    work(member);
  } catch (...) {
    failure_->note();
  }
}

void ThreadTeam::start(int members) noexcept {
  const int missing = members - 1 - helper_count_;
  try {
    helpers_.emplace_back(static_cast<std::size_t>(missing));
  } catch (...) {  // no memory: those that there are will do
    return;
  }
  helper_count_ += missing;
  const SignalsBlocked blocked;
  start(std::span(helpers_.back()));
}

// Starts the first, which starts half of the others before it helps, as one thread would take longer to start many than
// a short piece of work lasts. Where the system has no thread left there are fewer helpers.
void ThreadTeam::start(std::span<Helper> helpers) noexcept {
  while (!helpers.empty()) {
    Helper& first = helpers.front();
    const std::span<Helper> its = helpers.subspan(1, std::ssize(helpers) < kFewStarted ? 0 : (helpers.size() - 1) / 2);
    try {
      first.thread = std::thread([this, &first, its] {
        start(its);
        help(first);
      });
    } catch (...) {
      return;
    }
    helpers = helpers.subspan(1 + its.size());
  }
}

void ThreadTeam::gather(const Work& work, int members) {
  FirstFailure failure;
  if (helper_count_ < members - 1) start(members);
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    failure_ = &failure;
    members_ = members;
    joined_ = 1;
    calls_.fetch_add(1);
  }
  for (int i = 1; i < members; ++i) called_.notify_one();
  if (moves())
    for (Helpers& together : helpers_)
      for (Helper& helper : together)
        if (helper.thread.joinable() && busy_.load() < members - 1) move_to_other_processor(helper.thread);
  do_part(work, 0);
  {
    std::unique_lock lock(mutex_);
    work_ = nullptr;  // who has not come by now need not
    lock.unlock();
    look_for([this] { return busy_.load() == 0; });
    lock.lock();
    done_.wait(lock, [this] { return busy_.load() == 0; });
    failure_ = nullptr;
  }
  failure.rethrow();
}

void ThreadTeam::help(Helper& self) noexcept {
  const FloatEnv env;
  std::uint32_t seen = 0;
  for (;;) {
    look_for([&] { return calls_.load() != seen; });
    const Work* work = nullptr;
    int member = 0;
    {
      std::unique_lock lock(mutex_);
      called_.wait(lock, [&] { return ends_ || calls_.load() != seen; });
      seen = calls_.load();
      if (ends_) {
        self.ends.store(true);
        return;
      }
      if (!work_ || joined_ == members_) continue;
      work = work_;
      member = joined_++;
      busy_.fetch_add(1);
    }
    do_part(*work, member);
    const std::lock_guard lock(mutex_);
    if (busy_.fetch_sub(1) == 1) done_.notify_one();
  }
}

int default_threads() noexcept {
  // Once: a host may change its environment while others read it.
  static const int wanted = [] {
    const char* const text = secure_getenv("OMP_NUM_THREADS");
    // Of a list the first; 0 for what is no number.
    return text ? static_cast<int>(std::clamp(std::strtol(text, nullptr, 10), 0L, 4096L)) : 0;
  }();
  if (wanted > 0) return wanted;
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) return std::max(1, CPU_COUNT(&mine));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace libknng
