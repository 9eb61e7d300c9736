#include "backend/cuda/fused/limits.cuh"

#include <algorithm>
#include <cub/block/block_radix_sort.cuh>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/fused/limit_arithmetic.cuh"
#include "backend/cuda/select/highest_bound.cuh"
#include "core/division.h"

namespace libknng::cuda::fused {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

template <class Number>
struct Side {
  const SelectJob* job;
  const float* terms;
  std::uint16_t* order;
  ListLimit<Number>* limits;
  std::uint8_t* again;
  int lists, places, grain;  // of `again`
};
template <class Number>
__device__ Side<Number> side_of(const FusedJob<Number>& job, bool rows) {
  if (rows)
    return {&job.rows,     job.rows.row_terms,           job.row_order, job.row_limits, job.rows_again,
            job.rows.rows, row_blocks(job) * kBlockRows, kBlockRows};
  return {&job.columns,      job.rows.column_terms, job.column_order,           job.column_limits,
          job.columns_again, job.rows.columns,      in_tiles(job.rows.columns), job.unit_columns};
}

// The place of the point that is `rank`-th of a window of so many tiles: what a lane compares together is next to each
// other in rank, its 8 columns of 32, and the 4 of 32 rows that have the same number in their eight. Tiles are alike:
// each has points of all ranks.
__device__ int place_of_rank(int rank, int tiles) {
  const int together = rank / kLaneColumns, i = rank % kLaneColumns;
  const int tile = together % tiles, of_tile = together / tiles;
  return tile * kTile + of_tile % 4 * 32 + of_tile / 4 * 2 + i % 4 * 8 + i / 4;
}

constexpr int kSorted = kWindow / kThreads;  // of a thread
using Sort = cub::BlockRadixSort<float, kThreads, kSorted, std::uint16_t>;

// A block a window.
template <class Number>
__global__ void __launch_bounds__(kThreads) start(const __grid_constant__ FusedJob<Number> job) {
  using Range = LimitRange<Number>;
  __shared__ typename Sort::TempStorage scratch;
  __shared__ ListLimit<Number> of_points[kWindow], of_places[kWindow];
  const int first = static_cast<int>(blockIdx.x) * kWindow, thread = static_cast<int>(threadIdx.x);
  const bool rows = blockIdx.y == 0;
  const Side<Number> side = side_of(job, rows);
  const int places = min(side.places - first, kWindow), sorted = min(in_tiles(side.lists) - first, kWindow);
  float keys[kSorted];
  std::uint16_t points[kSorted];
#pragma unroll
  for (int j = 0; j < kSorted; ++j) {
    const int of_window = j * kThreads + thread, i = first + of_window;
    if (rows && i < kMostPasses) job.overflown[i] = 0;
    if (rows && i < row_blocks(job)) job.rows_again[i] = 0;
    if (rows && i < column_units(job)) job.columns_again[i] = 0;
    const bool takes = i < side.lists && (rows || job.both);
    const Number term = i < side.lists ? term_at<Number>(side.terms, i) : Range::no_term();
    ListLimit<Number> limit = limit_of(term, takes ? side.job->cutoffs[i] : 0.0F);
    if (!takes) limit.threshold = Range::no_threshold();
    if (takes) side.job->counts[i] = 0;
    of_points[of_window] = limit;
    points[j] = static_cast<std::uint16_t>(of_window);
    const auto key = static_cast<float>(limit.term + (takes ? limit.threshold : 0));
    keys[j] = i >= side.lists || isnan(key) ? infinity() : key;  // places without a point come last
  }
  if (places <= 0) return;
  if (side.order) Sort(scratch).Sort(keys, points);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kSorted; ++j) {
    const int rank = thread * kSorted + j;
    const int place = !side.order ? points[j] : rank < sorted ? place_of_rank(rank, sorted / kTile) : rank;
    if (place >= places) continue;
    of_places[place] = side.limits[first + place] = of_points[points[j]];
    if (side.order) side.order[first + place] = points[j];
  }
  __syncthreads();
  if (rows || thread >= places / kLaneColumns) return;
  ListLimit<Number> least{Range::no_term(), Range::no_threshold()};
  for (int c = 0; c < kLaneColumns; ++c) {
    const ListLimit<Number>& of = of_places[thread / 4 * 32 + thread % 4 * 2 + c / 2 * 8 + c % 2];
    least = {min(least.term, of.term), min(least.threshold, of.threshold)};
  }
  job.column_least[first / kLaneColumns + thread] = least;
}

// Lists that a block of threads looks at together.
constexpr int kRenewedTogether = 32;

// A block a list, of those that found too much.
template <class Number>
__global__ void __launch_bounds__(kThreads)
    renew(const __grid_constant__ FusedJob<Number> job, const __grid_constant__ ListsOfSide of_rows,
          const __grid_constant__ ListsOfSide of_columns) {
  if (!is_needed(job)) return;
  __shared__ HighestScratch<kWarps> scratch;
  const bool rows = blockIdx.y == 0;
  const Side<Number> side = side_of(job, rows);
  const ListsOfSide& of = rows ? of_rows : of_columns;
  for (int first = static_cast<int>(blockIdx.x) * kRenewedTogether; first < side.places;
       first += static_cast<int>(gridDim.x) * kRenewedTogether) {
    const int end = min(first + kRenewedTogether, side.places), mine = first + static_cast<int>(threadIdx.x);
    const int list = mine < end ? point_at(side.order, mine) : side.lists;
    const bool full = list < side.lists && side.job->counts[list] > side.job->capacity;
    if (list < side.lists && !full) side.limits[mine].threshold = LimitRange<Number>::no_threshold();
    if (!__syncthreads_or(full)) continue;
    for (int place = first; place < end; ++place) {
      if (!__syncthreads_or(full && mine == place)) continue;
      const int l = point_at(side.order, place);
      const int capacity = side.job->capacity;
      const CandidateArray found{side.job->out + static_cast<std::int64_t>(l) * capacity};
      const float highest = highest_of_nearest<kWarps>(found, capacity, of.bounds, l, scratch);
      if (threadIdx.x == 0) {
        const float cutoff = fminf(of.lists.cutoffs[l], highest);
        of.lists.cutoffs[l] = cutoff;
        side.limits[place] = limit_of(term_at<Number>(side.terms, l), cutoff);
        side.job->counts[l] = 0;
        side.again[place / side.grain] = 1;
      }
      __syncthreads();
    }
  }
}

}  // namespace

template <class Number>
void start_limits(const FusedJob<Number>& job, cudaStream_t stream) {
  const int most = std::max(row_blocks(job) * kBlockRows, in_tiles(job.rows.columns));
  start<<<dim3(blocks_for(most, kWindow), 2), kThreads, 0, stream>>>(job);
  check_launch();
}

template <class Number>
void renew_limits(const FusedJob<Number>& job, const ListsOfSide& rows, const ListsOfSide& columns,
                  cudaStream_t stream) {
  constexpr int kMostBlocks = 1024;
  const int most = ceil_div(std::max(job.rows.rows, job.rows.columns), kRenewedTogether);
  const dim3 blocks(static_cast<unsigned>(std::min(most, kMostBlocks)), job.both ? 2U : 1U);
  renew<<<blocks, kThreads, 0, stream>>>(job, rows, columns);
  check_launch();
}

template void start_limits(const FusedJob<float>&, cudaStream_t);
template void start_limits(const FusedJob<std::int32_t>&, cudaStream_t);
template void renew_limits(const FusedJob<float>&, const ListsOfSide&, const ListsOfSide&, cudaStream_t);
template void renew_limits(const FusedJob<std::int32_t>&, const ListsOfSide&, const ListsOfSide&, cudaStream_t);

}  // namespace libknng::cuda::fused
