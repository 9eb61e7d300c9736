// Whether rows in device memory have the same values, as dataset/row_loader.h compares them. Knows nothing of why they
// may be equal.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"

namespace libknng::cuda {

// Two rows: their first elements, and how far from each other a row's elements are.
struct RowPair {
  const void *a, *b;
  std::int64_t stride_of_a, stride_of_b;
};

// same[i]: 1 or 0, i < count; elements of a dtype that rows can have. All is memory that the device reaches.
// Asynchronous.
void compare_rows(std::int32_t dtype, std::int64_t dim, const RowPair* pairs, std::int64_t count, std::uint8_t* same,
                  cudaStream_t stream);

}  // namespace libknng::cuda
