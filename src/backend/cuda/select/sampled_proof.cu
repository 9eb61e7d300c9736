#include "backend/cuda/select/sampled_proof.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/key.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

__device__ bool before(Candidate a, Candidate b) { return a.low < b.low || (a.low == b.low && a.id < b.id); }

// One block a row. The k-th smallest key is taken to lie in the middle of the k-th smallest low's bounds.
__global__ void __launch_bounds__(kThreads)
    count_rows(const SampledRows rows, const CandidateLists lists, const Bounds bounds, const int short_capacity,
               SampledCounts* counts) {
  __shared__ float kth_key;
  __shared__ int near;
  const auto place = static_cast<int>(blockIdx.x);
  const std::int64_t l = rows.first(place / rows.together) + place % rows.together;
  const int size = lists.counts[l];
  const float cutoff = lists.cutoffs[l];
  if (size < bounds.k) {  // too few columns can be neighbours at all, or pass a guessed cut-off
    if (threadIdx.x == 0 && cutoff < infinity()) atomicAdd(&counts->unproved, 1);
    return;
  }
  if (threadIdx.x == 0) near = 0;
  const Candidate* list = lists.entries + l * lists.capacity;
  for (int i = static_cast<int>(threadIdx.x); i < size; i += kThreads) {
    const Candidate c = list[i];
    int nearer = 0;
    for (int j = 0; j < size && nearer < bounds.k; ++j) nearer += before(list[j], c) ? 1 : 0;
    if (nearer != bounds.k - 1) continue;
    const float up = bounds.of_id  ? c.low + 2 * (bounds.of_list[l] + bounds.of_id[c.id])
                     : bounds.sums ? bounds.sums->up(c.low)
                                   : c.low;
    const float key = c.low + (up - c.low) / 2;
    if (!(lists.dropped[l] > key) || cutoff < key) atomicAdd(&counts->unproved, 1);
    kth_key = key;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < size; i += kThreads)
    if (list[i].low <= kth_key) atomicAdd(&near, 1);
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicAdd(&counts->near, near);
  if (near > short_capacity) atomicAdd(&counts->beyond, 1);
}

}  // namespace

SampledRows::SampledRows(std::int64_t rows)
    : step(rows / kGroups), together(static_cast<int>(std::min<std::int64_t>(step, kMostTogether))) {}

void count_sampled(const SampledRows& rows, const CandidateLists& lists, const Bounds& bounds,
                   std::int64_t short_capacity, SampledCounts* counts, cudaStream_t stream) {
  if (rows.count() == 0) return;
  count_rows<<<static_cast<unsigned>(rows.count()), kThreads, 0, stream>>>(rows, lists, bounds,
                                                                           static_cast<int>(short_capacity), counts);
  check_launch();
}

}  // namespace libknng::cuda
