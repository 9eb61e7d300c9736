// Progress, log and stop of one call. Workers report to a Monitor; only the calling thread talks to the caller's
// callbacks. run() gives the work a thread of its own, so that the calling thread is free for progress and the
// stop flag; brief work is done on the calling thread, which talks to the callbacks where a stage begins.
#pragma once

#include <atomic>
#include <chrono>
#include <forward_list>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/float_env.h"
#include "knng/types.h"

namespace libknng {

class Monitor {
 public:
  // `control` is the library's own copy (see capi), all members known and checked; `env` has the host's state.
  Monitor(const knng_control& control, const FloatEnv& env) noexcept;

  // For work beside the call's main line: stops with `main`, whose progress and log it leaves alone. `main` outlives
  // it.
  explicit Monitor(const Monitor& main) noexcept;
  Monitor& operator=(const Monitor&) = delete;

  // Any thread of the call.
  void stage(std::string_view name, double total) noexcept;
  void advance(double amount) noexcept { done_.fetch_add(amount, std::memory_order_relaxed); }
  bool stopped() const noexcept {
    // The flag is the caller's and no std::atomic, but other threads write it.
    return stop_.load(std::memory_order_relaxed) ||
           (control_.stop && __atomic_load_n(control_.stop, __ATOMIC_RELAXED)) || (main_ && main_->stopped());
  }
  void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  void check() const;                                          // throws KNNG_ERR_CANCELLED if stopped
  void log(int level, const char* text) noexcept;              // lost if there is no memory for it
  void log_once(int level, const std::string& text) noexcept;  // once for the same text

  // Calling thread only: shows progress if it is due, delivers logs; then as check().
  void poll();

  // Runs `work` on a thread of its own, or here if it is brief, and polls until it ends; its exception comes out of
  // here.
  void run(const std::function<void()>& work, bool brief = false);

 private:
  void run_beside(const std::function<void()>& work);
  void deliver(bool always);

  knng_control control_;
  const Monitor* main_ = nullptr;
  std::thread::id caller_;  // while it does the work
  FloatState host_;
  std::mutex stage_mutex_;
  std::forward_list<std::string> names_;  // of all stages so far: the caller may be looking at one
  const char* stage_ = "";
  double total_ = 0;
  std::atomic<double> done_{0};
  std::atomic<bool> stop_{false};
  std::chrono::steady_clock::time_point shown_;
  const char* shown_stage_ = nullptr;
  std::mutex log_mutex_;
  std::vector<std::pair<int, std::string>> log_;
  std::forward_list<std::string> logged_once_;
};

}  // namespace libknng
