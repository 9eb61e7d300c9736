// One launch of the fused engine: products of rows with columns that stay in registers, where each is compared with
// what the lists of its row and its column still accept. Knows nothing of where cut-offs come from, nor of merging.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cuda/select/select.cuh"
#include "core/division.h"

namespace libknng::cuda::fused {

// What a list accepts, so that a pair costs one operation and one comparison for each of its two lists. With `term` t
// and cut-off C of list i, a pair's low R = t_i + t_j - 2 acc (in exact arithmetic) is above C_i if and only if
// 2 acc - t_j < t_i - C_i. The threshold is the right side rounded down, and rounding to nearest is monotone, so
//     fl(2 acc - t_j) < threshold_i   implies   R > C_i :
// what is left out lies above the cut-off, without an allowance (docs/internals/error-bound.md, "In registers").
// Integers are not rounded: `implies` is `if and only if`.
template <class Number>
struct alignas(8) ListLimit {
  Number term;       // t
  Number threshold;  // t - C
};

// Rows and columns of a block's tile; limits are padded to multiples of it, so that tiles can be read whole.
inline constexpr int kBlockRows = 256, kBlockColumns = 128;
// Points whose order may be changed (arrange.cuh), and places that are filled together.
inline constexpr int kWindow = 256, kTile = 128;
// Columns of 32 that a lane compares: numbers 2 q, 2 q + 1, 2 q + 8, ..., 2 q + 25.
inline constexpr int kLaneColumns = 8;
// Columns of a unit of work at most.
inline constexpr std::int64_t kUnitColumns = 16384;
// A pass more for lists that found more than they have room for, and one more; then what is lost is remembered. Lists
// that may find several times as many, as their cut-offs are of few columns, take more passes (TilePart::passes).
inline constexpr int kPasses = 3, kMostPasses = 12;

// All of a job but what depends on the products' type.
struct FusedWork {
  // Of both lists of a pair: terms, cut-offs, room. `tile` is not used.
  SelectJob rows, columns;
  bool both;  // a pair serves its column as well

  // By place: `terms` of a point, from one to the next `stride`; 16-byte aligned, multiples of 8. A term is a fp16, or
  // two bytes side by side.
  const std::byte *row_operands, *column_operands;
  std::int64_t stride, terms;

  // Which of its window the point in each place is; null: points are in order. In places of no point are zeros.
  std::uint16_t *row_order, *column_order;
  // By blocks of kBlockRows rows, and by units' columns: whether a list there has to be gone through again. Not looked
  // at in the first pass.
  std::uint8_t *rows_again, *columns_again;
  // By units, a bit for each window of a unit's columns: 0 where no pair with the unit's rows is wanted. Null: all may
  // be.
  const std::uint64_t* near;
  int unit_columns;     // a multiple of kBlockColumns; with `near`, of kWindow
  int band;             // blocks of rows whose units come together
  unsigned* overflown;  // kMostPasses: lists that found more than there is room for, by pass
  int pass = 0, passes = kPasses;
};

// Number: of products; float of fp16, std::int32_t of bytes.
template <class Number>
struct FusedJob : FusedWork {
  ListLimit<Number>*row_limits, *column_limits;  // by place
  ListLimit<Number>* column_least;               // the least term and the least threshold of each lane's columns of 32
};

__host__ __device__ constexpr int in_tiles(int points) { return round_up(points, kTile); }
// Places of so many points.
__host__ __device__ constexpr int places(const std::uint16_t* order, int points) {
  return order ? in_tiles(points) : points;
}
__device__ inline int point_at(const std::uint16_t* order, int place) {
  return order ? place / kWindow * kWindow + order[place] : place;
}

__host__ __device__ constexpr int row_blocks(const FusedWork& job) { return ceil_div(job.rows.rows, kBlockRows); }
__host__ __device__ constexpr int column_units(const FusedWork& job) {
  return (job.rows.columns + job.unit_columns - 1) / job.unit_columns;
}

// Block `b` of the persistent blocks of a launch takes units b, b + blocks, ...: a band of rows under some columns,
// then under the next columns, then the next band. What is multiplied at a time stays in the L2 cache.
struct Unit {
  int row_block, column_unit, first_column, columns;
};
__host__ __device__ inline int units(const FusedWork& job) { return row_blocks(job) * column_units(job); }
__device__ inline Unit unit_of(const FusedWork& job, int u) {
  const int of_band = job.band * column_units(job), first_block = u / of_band * job.band;
  const int blocks = std::min(job.band, row_blocks(job) - first_block), place = u % of_band;
  const int column_unit = place / blocks, first = column_unit * job.unit_columns;
  return {first_block + place % blocks, column_unit, first, std::min(job.rows.columns - first, job.unit_columns)};
}
// The windows of a unit that the pass looks at.
struct WantedWindows {
  std::uint64_t bits;

  __device__ bool any() const { return bits != 0; }
  __device__ bool has(int column_of_unit) const { return (bits >> column_of_unit / kWindow & 1) != 0; }
};
__device__ inline WantedWindows wanted_windows(const FusedWork& job, const Unit& unit) {
  const bool wanted = job.pass == 0 || job.rows_again[unit.row_block] != 0 || job.columns_again[unit.column_unit] != 0;
  if (!wanted) return {0};
  return {job.near ? job.near[unit.row_block * column_units(job) + unit.column_unit] : ~std::uint64_t{0}};
}
// Whether the pass has anything to do.
__device__ inline bool is_needed(const FusedWork& job) { return job.pass == 0 || job.overflown[job.pass - 1] != 0; }

// Sets how the launch is cut. Each multiprocessor gets several units, so that all end together. If the rows that all of
// them work on fit into half of an L2 cache of 40 MB, every multiprocessor has rows of its own and units are wide. Else
// they share a band of few rows, and units are narrow.
// Where windows are left out, units are narrow too: a wide one would be at work when all others have ended.
inline void cut_into_units(FusedWork& job, int multiprocessors, bool leaves_out = false) {
  constexpr std::int64_t kUnitsEach = 8, kCached = 20 << 20, kBand = 16, kBandColumns = 1024, kFewColumns = 2048;
  const bool cached = multiprocessors * kBlockRows * job.stride * 2 <= kCached;
  const std::int64_t blocks = row_blocks(job), enough = job.rows.columns * blocks / (kUnitsEach * multiprocessors) + 1;
  const std::int64_t most = std::min(leaves_out ? kFewColumns : kUnitColumns, cached ? kUnitColumns : kBandColumns);
  job.unit_columns = static_cast<int>(std::min(round_up(enough, kWindow), most));
  job.band = static_cast<int>(cached ? blocks : std::min(blocks, kBand));
}

// The kernels. Launch failures are CudaErrors.
template <class Number>
using Kernel = void (*)(const FusedJob<Number>& job, int multiprocessors, cudaStream_t stream);
bool can_run_hopper(int compute_major);
template <class Number>
void run_hopper(const FusedJob<Number>& job, int multiprocessors, cudaStream_t stream);
bool can_run_portable(int compute_major);
template <class Number>
void run_portable(const FusedJob<Number>& job, int multiprocessors, cudaStream_t stream);

// Whether a device's sessions have a kernel, and which.
inline bool has_kernel(int compute_major) { return can_run_hopper(compute_major) || can_run_portable(compute_major); }
template <class Number>
Kernel<Number> kernel_of(int compute_major) {
  return can_run_hopper(compute_major) ? run_hopper<Number> : run_portable<Number>;
}

}  // namespace libknng::cuda::fused
