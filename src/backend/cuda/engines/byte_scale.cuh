// The step at which rows are rounded to bytes. Any is right; a good one makes the bound tight (refine/low_bound.h).
#pragma once

#include <cstdint>

#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/base/stream.cuh"

namespace libknng::cuda {

struct ByteScale {
  double factor = 1;  // from canonical rows to bytes: three bits and a power of two
  double ratio = 1;   // what rounding loses of a row, relative to its length, in the mean
};

// Bytes are from -kLargestByte to kLargestByte.
inline constexpr double kLargestByte = 127;

// A factor from one with which the largest of all coordinates is a byte to one a thousand times as large, with which
// more coordinates are cut off and the others rounded less: the one of the least fourth powers of what some canonical
// rows lose, as a row that loses much is a candidate of all others. rows[i dim + t], i < count, and the centre are in
// device memory. exponent: with factor 2^exponent the largest of all points is below 2^14. Waits.
ByteScale choose_byte_scale(const double* rows, std::int64_t count, std::int64_t dim, const double* centre,
                            int exponent, Staging& staging, DeviceContext& context);

}  // namespace libknng::cuda
