// The first exception of several threads, kept until they are done: none may leave a thread or a call of C.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace libknng {

class FirstFailure {
 public:
  // In a handler: keeps what was caught.
  void note() noexcept {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    happened_.store(true, std::memory_order_release);
  }
  bool happened() const noexcept { return happened_.load(std::memory_order_acquire); }
  // Throws it, if there is one.
  void rethrow() const {
    if (happened()) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;  // written before happened_, and once
  std::atomic<bool> happened_{false};
};

}  // namespace libknng
