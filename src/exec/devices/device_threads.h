// A thread for each device of a team but the first, whose work the calling thread does. They live as long as the team:
// a new thread takes a tenth of a millisecond to come to its device. Knows nothing of what is done there.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace libknng {

class DeviceThreads {
 public:
  explicit DeviceThreads(std::size_t devices);
  ~DeviceThreads();
  DeviceThreads(const DeviceThreads&) = delete;
  DeviceThreads& operator=(const DeviceThreads&) = delete;

  // Calls work(i) for each device, all at the same time, work(0) here; returns when all are done. Work throws nothing.
  // One call at a time.
  void run(const std::function<void(std::size_t)>& work);

 private:
  void serve(std::size_t device);
  void end() noexcept;

  std::mutex mutex_;
  std::condition_variable called_, done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::uint64_t call_ = 0;  // how often they were called
  std::size_t busy_ = 0;    // of them
  bool ends_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace libknng
