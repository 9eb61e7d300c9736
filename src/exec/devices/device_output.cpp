#include "exec/devices/device_output.h"

#include "exec/devices/device_lists.h"
#include "exec/emit.h"
#include "exec/rows/host_copy.h"

namespace libknng {
namespace {

// One in so many threads is left for what else there is.
constexpr int kElsewhere = 8;
// Of a result with fewer bytes pages are made when it is written, without a thread for it.
constexpr std::int64_t kFewBytes = std::int64_t{1} << 20;

}  // namespace

Output::Output(const Task& task, int threads, const DeviceSet& set, const DuplicateCheck& check_duplicates,
               Budget* budget, Graph& graph, std::atomic<int>& copiers)
    : task_(task),
      threads_(threads),
      set_(set),
      check_(check_duplicates),
      budget_(budget),
      graph_(graph),
      copiers_(copiers) {
  copiers_.store(of_each_device(threads / 2));
}

bool Output::is_discarded(bool wait) {
  if (made_ || discarded_.load()) return discarded_.load();
  const Duplicates found = check_(wait);
  if (found == Duplicates::found) discarded_.store(true);
  if (found != Duplicates::none) return discarded_.load();
  allocate_result(task_, budget_, graph_);
  if (task_.keep_on_device) graph_.on_device = make_lists(set_, graph_, kept_bytes());
  made_ = true;
  const auto free_threads = [this] { copiers_.store(of_each_device(threads_ - std::max(1, threads_ / kElsewhere))); };
  if (graph_.ids.bytes() + graph_.values.bytes() < kFewBytes) {
    free_threads();
    return false;
  }
  // Pages of a large result are made by several threads.
  touched_ = std::async(std::launch::async, [this, free_threads] {
    ThreadTeam half(std::max(1, threads_ / 2));
    touch_bytes(graph_.ids.data(), graph_.ids.bytes(), half);
    touch_bytes(graph_.values.data(), graph_.values.bytes(), half);
    free_threads();
  });
  return false;
}

Results Output::results(const Part& part) {
  if (touched_.valid()) touched_.get();
  return {set_.devices.size(), part};
}

}  // namespace libknng
