#include "backend/cuda/keys/direct.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/copy_async.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/keys/lane_order.cuh"
#include "backend/cuda/keys/stored_key.cuh"
#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/rows/element_copy.cuh"
#include "backend/cuda/rows/row_source.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

// --- operands

constexpr int kTileRows = 64;  // the largest tile edge; pitch is a multiple

constexpr std::int64_t pitch_of(std::int64_t count) { return round_up(count, kTileRows); }

// An element_copy.cuh Copy: rows become an operand, zeros behind them.
template <class Source>
struct CanonicalCopy {
  using Value = double;
  Source rows;
  const std::int64_t* list;
  std::int64_t first, count, pitch;
  LaneOrder order;
  double* out;
  __device__ double read(std::int64_t i, std::int64_t t) const {
    return i < count ? rows.row(list ? list[i] : first + i)[t] : 0.0;
  }
  __device__ void write(std::int64_t i, std::int64_t t, double value) const {
    out[order.place_of(t) * pitch + i] = value;
  }
};

template <class Source>
__global__ void flag_directionless(Source rows, const std::int64_t* list, std::int64_t first, std::int64_t count,
                                   std::int64_t pitch, std::uint8_t* flags) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < pitch) flags[i] = i < count && rows.directionless(list ? list[i] : first + i);
}

// --- tiles

// Pairs of a thread: a square of the two operands in registers (Kato and Hosino 2009; Arefin et al. 2012 hold one pair
// a thread). Each pair has a sum in progress and one that waits in registers, four more in local memory
// (lane_order.cuh). On an H200 that is faster than two that wait in registers, with half of the blocks, and than
// smaller squares.
template <class T>
inline constexpr int kThreadRows = T::kHeavy ? 2 : 4;
template <class T>
inline constexpr int kThreadColumns = T::kHeavy || T::kSums > 1 ? 2 : 4;

constexpr int kEdge = 16;   // threads along each side of a tile
constexpr int kDepth = 16;  // coordinates in shared memory at a time, twice: one set is read while the next arrives

struct TileArguments {
  DirectOperand rows, columns;
  double p, scale;
  bool symmetric;  // rows and columns are the same, and so are the keys of pairs and exchanged pairs
  std::int64_t ld;
  std::int64_t row_tiles;
  std::int64_t first;  // block of the tile
};

// One block a tile of kEdge kThreadRows x kEdge kThreadColumns pairs.
template <class T, class Out>
__global__ void __launch_bounds__(kEdge* kEdge, 2) tile_keys(TileArguments a, Out* tile) {
  constexpr int kRows = kThreadRows<T>, kColumns = kThreadColumns<T>;
  constexpr int kTallness = kEdge * kRows, kWidth = kEdge * kColumns;
  __shared__ __align__(16) double row_values[2][kDepth][kTallness];
  __shared__ __align__(16) double column_values[2][kDepth][kWidth];
  const int x = static_cast<int>(threadIdx.x) % kEdge, y = static_cast<int>(threadIdx.x) / kEdge;
  // Neighbouring blocks share columns: all row tiles of a column tile come one after the other.
  const std::int64_t block = a.first + blockIdx.x;
  const std::int64_t row0 = block % a.row_tiles * kTallness, column0 = block / a.row_tiles * kWidth;
  // What is left of the diagonal comes from what is right of it.
  static_assert(kTallness % kWidth == 0);
  if (a.symmetric && column0 + kWidth <= row0) return;
  const bool twice = a.symmetric && column0 >= row0 + kTallness;
  const std::int64_t dim = a.rows.dim;

  const auto fetch = [&](std::int64_t from, int set) {
    const auto copy = [&](double* to, const double* values, std::int64_t pitch, int edge) {
      for (int i = 2 * static_cast<int>(threadIdx.x); i < kDepth * edge; i += 2 * kEdge * kEdge)
        if (from + i / edge < dim) copy_async(to + i, values + (from + i / edge) * pitch + i % edge);
    };
    copy(row_values[set][0], a.rows.values + row0, a.rows.pitch, kTallness);
    copy(column_values[set][0], a.columns.values + column0, a.columns.pitch, kWidth);
    commit_copies();
  };

  // Rows 4 y .. 4 y + 3 are the same for half of a warp. Columns are pairs 2 x, 2 x + 1 of each half of the tile, so
  // that a warp's 16-byte reads lie side by side.
  const auto column_of = [&](int c) { return c / 2 * (2 * kEdge) + 2 * x + c % 2; };

  Sums<T, kRows * kColumns> sum, waiting, above[kLevels - 1];
  sum.clear();
  int place = 0;
  std::int64_t left = lane_size(0, dim);
  fetch(0, 0);
  for (std::int64_t from = 0, set = 0; from < dim; from += kDepth, set ^= 1) {
    if (from + kDepth < dim) {
      fetch(from + kDepth, static_cast<int>(set ^ 1));
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const int depth = static_cast<int>(min(dim - from, static_cast<std::int64_t>(kDepth)));
    for (int q = 0; q < depth;) {
      const int run = static_cast<int>(min(left, static_cast<std::int64_t>(depth - q)));
      left -= run;
#pragma unroll 2
      for (const int end = q + run; q < end; ++q) {
        double u[kRows], v[kColumns];
#pragma unroll
        for (int r = 0; r < kRows; ++r) u[r] = row_values[set][q][y * kRows + r];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) v[c] = column_values[set][q][column_of(c)];
#pragma unroll
        for (int r = 0; r < kRows; ++r)
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
            T::template accumulate<ScalarOps>(sum.s[r * kColumns + c], u[r], v[c], a.p);
      }
      // Lanes without coordinates, where dim < 32, are sums of nothing.
      while (left == 0 && place < kCanonicalLanes) {
        fold_lane(place, sum, waiting, above);
        if (++place < kCanonicalLanes) left = lane_size(lane_at(place), dim);
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = row0 + y * kRows + r;
    if (row >= a.rows.count) break;
    const bool row_directionless = a.rows.directionless && a.rows.directionless[row];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t column = column0 + column_of(c);
      if (column >= a.columns.count) continue;
      const bool directionless = row_directionless || (a.columns.directionless && a.columns.directionless[column]);
      const double key =
          directionless ? kNoDirectionKey : T::template finish<ScalarOps>(sum.s[r * kColumns + c], a.scale);
      store_key(tile + row * a.ld + column, key);
      if (twice) store_key(tile + column * a.ld + row, key);
    }
  }
}

template <class Out>
void launch_tile(const Metric& metric, const DirectOperand& rows, const DirectOperand& columns, bool symmetric,
                 Out* tile, std::int64_t ld, const DirectParts& parts, cudaStream_t stream) {
  if (rows.count == 0 || columns.count == 0) return;
  visit_term(metric.term, [&](auto term) {
    using T = decltype(term);
    constexpr std::int64_t kTallness = kEdge * kThreadRows<T>, kWidth = kEdge * kThreadColumns<T>;
    const std::int64_t row_tiles = ceil_div(rows.count, kTallness);
    const std::int64_t column_tiles = ceil_div(columns.count, kWidth);
    const std::int64_t blocks = row_tiles * column_tiles;
    const std::int64_t together = std::max<std::int64_t>(parts.pairs / (kTallness * kWidth), 1);
    TileArguments arguments{rows, columns, metric.p, metric.scale, symmetric, ld, row_tiles, 0};
    for (; arguments.first < blocks; arguments.first += together) {
      if (parts.before) parts.before();
      const auto count = static_cast<unsigned>(std::min(together, blocks - arguments.first));
      tile_keys<T><<<count, kEdge * kEdge, 0, stream>>>(arguments, tile);
      check_launch();
    }
  });
}

}  // namespace

std::int64_t direct_operand_bytes(std::int64_t count, std::int64_t dim) {
  Workspace space(nullptr);
  space.take<double>(pitch_of(count) * dim);
  space.take<std::uint8_t>(pitch_of(count));
  return space.used();
}

DirectOperand make_direct_operand(const CanonicalView& view, const std::int64_t* list, std::int64_t first,
                                  std::int64_t count, void* memory, cudaStream_t stream) {
  const std::int64_t dim = view.rows.dim, pitch = pitch_of(count);
  Workspace space(memory);
  auto* values = space.take<double>(pitch * dim);
  auto* flags = has_directions(view.transform) ? space.take<std::uint8_t>(pitch) : nullptr;
  if (count == 0) return {values, flags, 0, dim, pitch};
  visit_source(view, [&](const auto& source) {
    using Source = std::remove_cvref_t<decltype(source)>;
    turn<false>(CanonicalCopy<Source>{source, list, first, count, pitch, LaneOrder(dim), values}, pitch, dim, stream);
    if (!flags) return;
    flag_directionless<<<blocks_for(pitch, 256), 256, 0, stream>>>(source, list, first, count, pitch, flags);
    check_launch();
  });
  return {values, flags, count, dim, pitch};
}

void direct_tile(const Metric& metric, const DirectOperand& rows, const DirectOperand& columns, bool symmetric,
                 float* tile, std::int64_t ld, const DirectParts& parts, cudaStream_t stream) {
  launch_tile(metric, rows, columns, symmetric, tile, ld, parts, stream);
}

void direct_tile(const Metric& metric, const DirectOperand& rows, const DirectOperand& columns, double* tile,
                 std::int64_t ld, const DirectParts& parts, cudaStream_t stream) {
  launch_tile(metric, rows, columns, false, tile, ld, parts, stream);
}

}  // namespace libknng::cuda
