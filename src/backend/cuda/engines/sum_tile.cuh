// Tiles of proved lower bounds of keys for metrics without product form: sums in single precision, all rows of a block
// with all columns of another (refine/sum_bound.h). Knows nothing of lists.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"
#include "core/dtype.h"
#include "metric/metric.h"
#include "refine/sum_bound.h"

namespace libknng::cuda {

// Whether a tile can be made of rows stored like this: single precision must hold their values.
constexpr bool has_sum_operand(std::int32_t dtype) noexcept { return fits_single(dtype); }

// Rows in single precision, a coordinate's values of all rows together.
struct SumOperand {
  const float* values = nullptr;  // depth x pitch, zeros behind the last row and coordinate
  std::int64_t count = 0;
  std::int64_t depth = 0, pitch = 0;  // dimension and count, rounded up to what a block takes at a time
};

std::int64_t sum_operand_bytes(std::int64_t count, std::int64_t dim);
// Lays out rows [first, first + count) as they are stored, or rows list[i], i < count, if `list` (device memory) is not
// null. `memory` has sum_operand_bytes() and is 256-byte aligned. Asynchronous.
SumOperand make_sum_operand(const DeviceRows& stored, const std::int64_t* list, std::int64_t first, std::int64_t count,
                            void* memory, cudaStream_t stream);

// Widens the range, in device memory, to what rows contain. Asynchronous.
void find_range(const DeviceRows& stored, ValueRange* range, cudaStream_t stream);

// tile[r ld + c] = bound.low() of row r and column c; entries [columns, ld) of a row may be written to. `tile` is
// 16-byte aligned, ld a multiple of 4. symmetric: rows and columns are the same, and each pair is evaluated once.
// Asynchronous.
void sum_tile(const Metric& metric, const SumBound& bound, const SumOperand& rows, const SumOperand& columns,
              bool symmetric, float* tile, std::int64_t ld, cudaStream_t stream);

}  // namespace libknng::cuda
