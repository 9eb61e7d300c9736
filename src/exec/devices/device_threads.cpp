#include "exec/devices/device_threads.h"

#include "core/signals_blocked.h"

namespace libknng {

DeviceThreads::DeviceThreads(std::size_t devices) {
  const SignalsBlocked blocked;
  try {
    threads_.reserve(devices);
    for (std::size_t i = 1; i < devices; ++i) threads_.emplace_back([this, i] { serve(i); });
  } catch (...) {
    end();
    throw;
  }
}

DeviceThreads::~DeviceThreads() { end(); }

void DeviceThreads::run(const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = threads_.size();
    ++call_;
  }
  called_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void DeviceThreads::serve(std::size_t device) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t served = 0;; served = call_) {
    called_.wait(lock, [&] { return ends_ || call_ != served; });
    if (ends_) return;
    const auto& work = *work_;
    lock.unlock();
    work(device);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

// The threads are joined when they are destroyed.
void DeviceThreads::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  called_.notify_all();
}

}  // namespace libknng
