#include "backend/cuda/fused/limits.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/highest_bound.cuh"

namespace libknng::cuda::fused {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

struct Side {
  const SelectJob* job;
  const float* terms;
  ListLimit* limits;
  std::uint8_t* again;
  int lists, padded, grain;  // of `again`
};
__device__ Side side_of(const FusedJob& job, bool rows) {
  if (rows)
    return {&job.rows,      job.rows.row_terms, job.row_limits,
            job.rows_again, job.rows.rows,      (job.rows.rows + kBlockRows - 1) / kBlockRows * kBlockRows,
            kBlockRows};
  return {&job.columns,      job.rows.column_terms,
          job.column_limits, job.columns_again,
          job.rows.columns,  (job.rows.columns + kBlockColumns - 1) / kBlockColumns * kBlockColumns,
          job.unit_columns};
}

__device__ ListLimit limit_of(float term, float cutoff) {
  return {__fmul_rd(0.5F, term), __fmul_rd(0.5F, __fsub_rd(term, cutoff))};
}

__global__ void __launch_bounds__(kThreads) start(const __grid_constant__ FusedJob job) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i < kPasses) job.overflown[i] = 0;
  if (i < row_blocks(job)) job.rows_again[i] = 0;
  if (i < column_units(job)) job.columns_again[i] = 0;
  for (const bool rows : {true, false}) {
    const Side side = side_of(job, rows);
    if (i >= side.padded) continue;
    const bool takes = i < side.lists && (rows || job.both);
    const float term = i < side.lists ? side.terms[i] : infinity();
    ListLimit limit = limit_of(term, takes ? side.job->cutoffs[i] : 0.0F);
    if (!takes) limit.threshold = infinity();
    side.limits[i] = limit;
    if (takes) side.job->counts[i] = 0;
  }
}

// A block a list, of those that found too much.
__global__ void __launch_bounds__(kThreads)
    renew(const __grid_constant__ FusedJob job, const __grid_constant__ ListsOfSide of_rows,
          const __grid_constant__ ListsOfSide of_columns) {
  if (!is_needed(job)) return;
  __shared__ HighestScratch<kWarps> scratch;
  const bool rows = blockIdx.y == 0;
  const Side side = side_of(job, rows);
  const ListsOfSide& of = rows ? of_rows : of_columns;
  for (int first = static_cast<int>(blockIdx.x) * kThreads; first < side.lists;
       first += static_cast<int>(gridDim.x) * kThreads) {
    const int mine = first + static_cast<int>(threadIdx.x);
    const bool full = mine < side.lists && side.job->counts[mine] > side.job->capacity;
    if (mine < side.lists && !full) side.limits[mine].threshold = infinity();
    // Lists in which something is left over are few.
    for (int l = first; l < min(first + kThreads, side.lists); ++l) {
      if (!__syncthreads_or(full && mine == l)) continue;
      const int capacity = side.job->capacity;
      const float highest = highest_of_nearest<kWarps>(side.job->out + static_cast<std::int64_t>(l) * capacity,
                                                       capacity, of.bounds, l, scratch);
      if (threadIdx.x == 0) {
        const float cutoff = fminf(of.lists.cutoffs[l], highest);
        of.lists.cutoffs[l] = cutoff;
        side.limits[l] = limit_of(side.terms[l], cutoff);
        side.job->counts[l] = 0;
        side.again[l / side.grain] = 1;
      }
      __syncthreads();
    }
  }
}

}  // namespace

void start_limits(const FusedJob& job, cudaStream_t stream) {
  const int most = std::max(row_blocks(job) * kBlockRows, column_units(job) * job.unit_columns);
  start<<<static_cast<unsigned>((most + kThreads - 1) / kThreads), kThreads, 0, stream>>>(job);
  check_launch();
}

void renew_limits(const FusedJob& job, const ListsOfSide& rows, const ListsOfSide& columns, cudaStream_t stream) {
  constexpr int kMostBlocks = 512;
  const int most = std::max(job.rows.rows, job.rows.columns);
  const dim3 blocks(static_cast<unsigned>(std::min((most + kThreads - 1) / kThreads, kMostBlocks)), job.both ? 2U : 1U);
  renew<<<blocks, kThreads, 0, stream>>>(job, rows, columns);
  check_launch();
}

}  // namespace libknng::cuda::fused
