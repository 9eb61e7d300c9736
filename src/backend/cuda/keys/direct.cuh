// The direct tile: canonical keys of all rows of a block with all columns of another, for every metric. Rows are first
// made canonical and laid out as the tile reads them (DirectOperand), once for many tiles. Knows nothing of lists.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

#include "backend/cuda/rows/rows.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

// Canonical rows in fp64, a coordinate's values of all rows together, coordinates in the order in which the tile adds
// them: all of lane 0 of the canonical sum, then of the lane that folds onto it first (16), and so on (lane_order.cuh).
struct DirectOperand {
  const double* values = nullptr;               // dim x pitch
  const std::uint8_t* directionless = nullptr;  // by row; null: all have a direction
  std::int64_t count = 0, dim = 0, pitch = 0;   // pitch: count rounded up, zeros behind the last row
};

std::int64_t direct_operand_bytes(std::int64_t count, std::int64_t dim);

// Lays out rows [first, first + count), or rows list[i], i < count, if `list` (device memory) is not null. `memory` has
// direct_operand_bytes() and is 256-byte aligned. Asynchronous.
DirectOperand make_direct_operand(const CanonicalView& view, const std::int64_t* list, std::int64_t first,
                                  std::int64_t count, void* memory, cudaStream_t stream);

// A tile is put on the stream in parts of about so many pairs, a block of it at least; `before`, if there is one, is
// called before each, and may throw: then the tile is not complete.
struct DirectParts {
  std::int64_t pairs = INT64_MAX;
  std::function<void()> before;
};

// tile[r ld + c] = the key of row r and column c, rounded down to fp32: a lower bound as selectors take it, infinite
// for no finite key. symmetric: both are the same rows, whose keys are evaluated once for (r, c) and (c, r).
// Asynchronous.
void direct_tile(const Metric& metric, const DirectOperand& rows, const DirectOperand& columns, bool symmetric,
                 float* tile, std::int64_t ld, const DirectParts& parts, cudaStream_t stream);
// The key itself.
void direct_tile(const Metric& metric, const DirectOperand& rows, const DirectOperand& columns, double* tile,
                 std::int64_t ld, const DirectParts& parts, cudaStream_t stream);

}  // namespace libknng::cuda
