#include "backend/cuda/engines/sum_tile.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/copy_async.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/engines/sum_units.cuh"
#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/rows/element_copy.cuh"
#include "backend/cuda/rows/row_source.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEdge = 16;   // threads along each side of a tile
constexpr int kSide = 128;  // rows of a tile; columns too, where a pair has one sum
constexpr int kDepth = 8;   // coordinates in shared memory at a time, twice: one set is read while the next arrives
constexpr int kVector = 4;  // floats of a copy, a load, a store

// --- operands

// Of rows that have a sum operand: exact.
template <class T>
__device__ float single(T stored) {
  return static_cast<float>(exact(stored));
}

// An element_copy.cuh Copy: rows become an operand, with zeros around.
template <class Source>
struct SingleCopy {
  using Value = float;
  Source rows;
  const std::int64_t* list;
  std::int64_t first, count, dim, pitch;
  float* out;
  __device__ float read(std::int64_t i, std::int64_t t) const {
    if (i >= count || t >= dim) return 0;
    return single(rows.data[(list ? list[i] : first + i) * rows.row_stride + t * rows.col_stride]);
  }
  __device__ void write(std::int64_t i, std::int64_t t, float value) const { out[t * pitch + i] = value; }
};

// A warp a row. Magnitudes are ordered as their bits are.
template <class Source>
__global__ void find_magnitudes(Source rows, std::int64_t count, std::int64_t dim, ValueRange* range) {
  float smallest = std::numeric_limits<float>::infinity(), largest = 0;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kThreads / 32);
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32; i < count; i += warps)
    for (std::int64_t t = lane; t < dim; t += 32) {
      const float x = fabsf(single(rows.data[i * rows.row_stride + t * rows.col_stride]));
      largest = fmaxf(largest, x);
      if (x != 0) smallest = fminf(smallest, x);
    }
  smallest = smallest_of_lanes(smallest);
  largest = largest_of_lanes(largest);
  if (lane != 0) return;
  atomicMin(reinterpret_cast<unsigned*>(&range->smallest), __float_as_uint(smallest));
  atomicMax(reinterpret_cast<unsigned*>(&range->largest), __float_as_uint(largest));
}

// Calls f with the rows' source, for all types that single precision holds (and others that are read as one of them).
template <class F>
void visit_single(const DeviceRows& stored, F&& f) {
  visit_stored(stored, [&](const auto& source) {
    using Source = std::remove_cvref_t<decltype(source)>;
    if constexpr (!std::is_same_v<typename Source::Element, double>) f(source);
  });
}

// --- tiles

struct TileArguments {
  SumOperand rows, columns;
  SumBound bound;
  float p;
  bool symmetric;
  float* tile;
  std::int64_t ld;
  std::int64_t row_tiles;
};

// Pairs of a thread: a rectangle of the two operands in registers, 64 sums (Kato and Hosino 2009; Arefin et al. 2012
// hold one pair a thread). Rows come in two runs of 4 that lie half a tile apart, and so do columns, so that the
// 16-byte reads of a warp, 4 threads high and 8 wide, lie side by side or are the same.
template <class T>
struct Shape {
  static constexpr int kRows = kSide / kEdge, kColumns = kRows / T::kSums, kWidth = kEdge * kColumns;
  static constexpr int kRowRuns = kRows / kVector, kColumnRuns = kColumns / kVector;
  static constexpr int kRunStride = kEdge * kVector;  // from one run to the next
  static_assert(kRowRuns * kVector == kRows && kColumnRuns * kVector == kColumns);
};

// Coordinates [0, kDepth) from `values`, kPoints points of each.
template <int kPoints>
__device__ inline void fetch(float (&to)[kDepth][kPoints], const float* values, std::int64_t pitch) {
  constexpr int kCopies = kDepth * kPoints / kVector;
  static_assert(kCopies <= kThreads);
  const int i = static_cast<int>(threadIdx.x) * kVector;
  if (kCopies == kThreads || static_cast<int>(threadIdx.x) < kCopies)
    copy_async(&to[0][0] + i, values + i / kPoints * pitch + i % kPoints);
}

// Runs of 4 points, from shared memory to registers.
template <int kRuns>
__device__ inline void load_runs(float (&to)[kRuns * kVector], const float* from) {
#pragma unroll
  for (int run = 0; run < kRuns; ++run) {
    const float4 v = *reinterpret_cast<const float4*>(from + run * kEdge * kVector);
    to[run * kVector] = v.x;
    to[run * kVector + 1] = v.y;
    to[run * kVector + 2] = v.z;
    to[run * kVector + 3] = v.w;
  }
}

// One block a tile of kSide x kWidth pairs.
template <class T>
__global__ void __launch_bounds__(kThreads, 2) add_terms(const TileArguments a) {
  using S = Shape<T>;
  constexpr int kRows = S::kRows, kColumns = S::kColumns;
  // Neighbouring blocks share columns: all row tiles of a column tile come one after the other.
  const std::int64_t row0 = blockIdx.x % a.row_tiles * kSide, column0 = blockIdx.x / a.row_tiles * S::kWidth;
  if (a.symmetric && column0 + S::kWidth <= row0) return;  // its mirror image is evaluated

  __shared__ __align__(16) float row_values[2][kDepth][kSide];
  __shared__ __align__(16) float column_values[2][kDepth][S::kWidth];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int x = warp % 2 * 8 + lane % 8, y = warp / 2 * 4 + lane / 8;

  float s[kRows][kColumns][T::kSums] = {};
  const float* next_rows = a.rows.values + row0;
  const float* next_columns = a.columns.values + column0;
  const auto fetch_both = [&](int set) {
    fetch(row_values[set], next_rows, a.rows.pitch);
    fetch(column_values[set], next_columns, a.columns.pitch);
    commit_copies();
    next_rows += kDepth * a.rows.pitch;
    next_columns += kDepth * a.columns.pitch;
  };
  fetch_both(0);
  int set = 0;
  for (std::int64_t left = a.rows.depth; left > 0; left -= kDepth, set ^= 1) {
    // Everybody's copies have arrived, and everybody has read the other set.
    wait_for_copies<0>();
    __syncthreads();
    if (left > kDepth) fetch_both(set ^ 1);
#pragma unroll
    for (int q = 0; q < kDepth; ++q) {
      float u[kRows], v[kColumns];
      load_runs<S::kRowRuns>(u, &row_values[set][q][y * kVector]);
      load_runs<S::kColumnRuns>(v, &column_values[set][q][x * kVector]);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) T::template add<DeviceUnits>(s[r][c], u[r], v[c], a.p);
    }
  }

  float low[kRows][kColumns];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) low[r][c] = a.bound.low(T::finish(s[r][c]));
  const auto row_of = [&](int r) { return row0 + r / kVector * S::kRunStride + y * kVector + r % kVector; };
  const auto column_of = [&](int c) { return column0 + c / kVector * S::kRunStride + x * kVector + c % kVector; };
  const auto store = [&](std::int64_t at, float l0, float l1, float l2, float l3) {
    *reinterpret_cast<float4*>(a.tile + at) = make_float4(l0, l1, l2, l3);
  };
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row_of(r) >= a.rows.count) continue;
#pragma unroll
    for (int c = 0; c < kColumns; c += kVector)
      if (column_of(c) < a.columns.count)
        store(row_of(r) * a.ld + column_of(c), low[r][c], low[r][c + 1], low[r][c + 2], low[r][c + 3]);
  }
  if (!a.symmetric || column0 < row0 + kSide) return;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    if (column_of(c) >= a.columns.count) continue;
#pragma unroll
    for (int r = 0; r < kRows; r += kVector)
      store(column_of(c) * a.ld + row_of(r), low[r][c], low[r + 1][c], low[r + 2][c], low[r + 3][c]);
  }
}

}  // namespace

std::int64_t sum_operand_bytes(std::int64_t count, std::int64_t dim) {
  Workspace space(nullptr);
  space.take<float>(round_up(count, kSide) * round_up(dim, kDepth));
  return space.used();
}

SumOperand make_sum_operand(const DeviceRows& stored, const std::int64_t* list, std::int64_t first, std::int64_t count,
                            void* memory, cudaStream_t stream) {
  const std::int64_t pitch = round_up(count, kSide), depth = round_up(stored.dim, kDepth);
  auto* const values = static_cast<float*>(memory);
  if (count > 0)
    visit_single(stored, [&](const auto& source) {
      using Source = std::remove_cvref_t<decltype(source)>;
      turn<false>(SingleCopy<Source>{source, list, first, count, stored.dim, pitch, values}, pitch, depth, stream);
    });
  return {values, count, depth, pitch};
}

void find_range(const DeviceRows& stored, ValueRange* range, cudaStream_t stream) {
  visit_single(stored, [&](const auto& source) {
    const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(stored.rows / (kThreads / 32), 1, 4096));
    find_magnitudes<<<blocks, kThreads, 0, stream>>>(source, stored.rows, stored.dim, range);
    check_launch();
  });
}

void sum_tile(const Metric& metric, const SumBound& bound, const SumOperand& rows, const SumOperand& columns,
              bool symmetric, float* tile, std::int64_t ld, cudaStream_t stream) {
  if (rows.count == 0 || columns.count == 0) return;
  visit_sum_term(metric.term, [&](auto term) {
    using T = decltype(term);
    const std::int64_t row_tiles = rows.pitch / kSide;
    const std::int64_t column_tiles = ceil_div(columns.count, Shape<T>::kWidth);
    const TileArguments arguments{rows, columns, bound, static_cast<float>(metric.p), symmetric, tile, ld, row_tiles};
    add_terms<T><<<static_cast<unsigned>(row_tiles * column_tiles), kThreads, 0, stream>>>(arguments);
    check_launch();
  });
}

}  // namespace libknng::cuda
