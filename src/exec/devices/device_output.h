// Memory for the result of devices. It is allocated while they still work, as soon as it is clear that there will be a
// result. Knows nothing of what they do.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>

#include "core/host_memory.h"
#include "exec/devices/device_part.h"
#include "exec/duplicate_check.h"
#include "exec/task.h"
#include "graph/graph.h"

namespace libknng {

// Until the memory is there half of the host's threads are for that and for what finds it out; the others, all devices
// together, bring rows.
class Output {
 public:
  // The number of threads that bring rows for each device goes to `copiers`.
  Output(const Task& task, int threads, const DeviceSet& set, const DuplicateCheck& check_duplicates, Budget* budget,
         Graph& graph, std::atomic<int>& copiers);

  // Whether nothing more is to be done, as far as is known; one thread asks.
  bool is_discarded(bool wait);
  // For other threads.
  bool known_discarded() const noexcept { return discarded_.load(); }
  // On the first device.
  std::int64_t kept_bytes() const { return task_.kept_bytes(graph_.rows, graph_.k()); }
  Results results(const Part& part);

 private:
  int of_each_device(int threads) const noexcept {
    return std::max(1, threads / static_cast<int>(set_.devices.size()));
  }

  const Task& task_;
  int threads_;
  const DeviceSet& set_;
  const DuplicateCheck& check_;
  Budget* budget_;
  Graph& graph_;
  std::atomic<int>& copiers_;
  std::atomic<bool> discarded_{false};
  bool made_ = false;
  std::future<void> touched_;
};

}  // namespace libknng
