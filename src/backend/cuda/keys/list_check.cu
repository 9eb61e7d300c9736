#include "backend/cuda/keys/list_check.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/result/delivery.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kColumnsOfBlock = 2048;

__global__ void gather_listed(ListCheckJob job) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= job.count * job.width) return;
  const std::int64_t place = at / job.width, id = job.ids[at];
  const bool there = id >= 0 && id < job.columns;
  job.listed[at] = there ? job.keys[place * job.columns + id] : static_cast<double>(NAN);
}

__global__ void count_before(ListCheckJob job) {
  const std::int64_t place = blockIdx.y, last = place * job.width + job.width - 1;
  const double last_key = job.listed[last];
  const std::int64_t last_id = job.ids[last], row = job.rows[place];
  const RowAdmission admission = job.admission.of(row);
  const double* keys = job.keys + place * job.columns;
  const std::int64_t first = blockIdx.x * kColumnsOfBlock, end = min(first + kColumnsOfBlock, job.columns);
  unsigned before = 0, equal = 0;
  for (std::int64_t j = first + threadIdx.x; j < end; j += kThreads) {
    if (!admission.admits(j)) continue;
    const double key = keys[j];
    before += key < last_key || (key == last_key && j < last_id) ? 1 : 0;
    equal += key == last_key ? 1 : 0;
  }
  before = warp_sum(before);
  equal = warp_sum(equal);
  if (threadIdx.x % 32 != 0) return;
  if (before) atomicAdd(&job.counts[place].before, before);
  if (equal) atomicAdd(&job.counts[place].equal, equal);
}

}  // namespace

void count_keys(const ListCheckJob& job, cudaStream_t stream) {
  if (job.count == 0) return;
  check(cudaMemsetAsync(job.counts, 0, static_cast<std::size_t>(job.count) * sizeof *job.counts, stream));
  const std::int64_t entries = job.count * job.width;
  gather_listed<<<blocks_for(entries, kThreads), kThreads, 0, stream>>>(job);
  check_launch();
  const dim3 blocks(blocks_for(job.columns, kColumnsOfBlock), static_cast<unsigned>(job.count));
  count_before<<<blocks, kThreads, 0, stream>>>(job);
  check_launch();
}

bool is_right(const knng_backend_problem& p, const Metric& metric, const ListClaim& claim, const double* listed,
              const KeyCounts& counts) {
  const auto reports = [&](std::int64_t at, double key) {
    const double value = reported_value(metric, key, p.metric.similarity != 0);
    const auto rounded = static_cast<float>(value);
    const std::int64_t bytes = value_bytes(p);
    const void* const stored = static_cast<const std::byte*>(claim.values) + at * bytes;
    return std::memcmp(stored, bytes == 8 ? static_cast<const void*>(&value) : &rounded,
                       static_cast<std::size_t>(bytes)) == 0;
  };
  const std::int64_t shift = width(p) - p.k;
  if (shift > 0) {
    if (claim.ids[0] != claim.admission.excluded || !reports(0, metric.term == Term::product ? listed[0] : 0.0))
      return false;
  }
  const std::int64_t last = shift + p.k - 1;
  std::uint64_t tied = 0;  // entries with the last one's key
  for (std::int64_t t = shift; t <= last; ++t) {
    const std::int64_t id = claim.ids[t];
    if (std::isnan(listed[t]) || !claim.admission.admits(id) || !reports(t, listed[t])) return false;
    if (t > shift && !(std::pair(listed[t - 1], claim.ids[t - 1]) < std::pair(listed[t], id))) return false;
    tied += listed[t] == listed[last] ? 1 : 0;
  }
  return counts.before == static_cast<std::uint64_t>(p.k - 1) && claim.tied == (counts.equal > tied);
}

}  // namespace libknng::cuda
