#include "backend/cuda/select/select.cuh"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/entries.cuh"

namespace libknng::cuda {
namespace {

constexpr std::array<Selector, 3> table{{
    {"quick", quick_workspace, quick_run, quick_workspace_both, quick_run_both, true},
    {"batch_sort", batch_sort_workspace, batch_sort_run, batch_sort_workspace_both, batch_sort_run_both},
    {"insertion", insertion_workspace, insertion_run},
}};

}  // namespace

std::span<const Selector> selectors() { return table; }

DeviceLimits limits_of(const DeviceProperties& device) { return {device.multiprocessors, device.shared_bytes}; }

DeviceLimits device_limits() {
  int device = 0;
  check(cudaGetDevice(&device));
  return limits_of(properties_of(device));
}

SelectJob square_of(const SelectJob& job, int first) {
  SelectJob square = job;
  square.square = 0;
  square.rows = std::min(job.square, job.rows - first);
  square.columns = square.rows;
  square.tile += first * job.ld;
  if (job.row_terms) square.row_terms += first;
  if (job.column_terms) square.column_terms += first;
  square.first_id += static_cast<std::uint32_t>(first);
  square.admission = job.admission.from(first);
  if (job.cutoffs) square.cutoffs += first;
  square.out += std::int64_t{first} * job.capacity;
  square.counts += first;
  if (job.dropped) square.dropped += first;
  return square;
}

void select(const Selector& selector, const SelectJob& job, void* workspace, cudaStream_t stream) {
  if (job.square == 0 || selector.takes_squares) return selector.run(job, workspace, stream);
  for (int first = 0; first < job.rows; first += job.square) selector.run(square_of(job, first), workspace, stream);
}

const Selector* find_selector(const char* name) {
  for (const Selector& selector : table)
    if (std::strcmp(selector.name, name) == 0) return &selector;
  return nullptr;
}

}  // namespace libknng::cuda
