// Whether rows in device memory have the same values, as dataset/row_loader.h compares them. Knows nothing of why they
// may be equal.
#pragma once

#include <cstdint>

#include "backend/cuda/rows.cuh"

namespace libknng::cuda {

// Row rows_of_a[i] of `a` with row rows_of_b[i] of `b`, i < count, of one type and dimension; same[i]: 1 or 0. All is
// memory that the device reaches. Asynchronous.
void compare_rows(const DeviceRows& a, const std::int64_t* rows_of_a, const DeviceRows& b,
                  const std::int64_t* rows_of_b, std::int64_t count, std::uint8_t* same, cudaStream_t stream);

}  // namespace libknng::cuda
