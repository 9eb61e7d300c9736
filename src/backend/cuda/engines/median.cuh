// The median of each coordinate over a few rows, found on the device. Knows nothing of what it is for.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace libknng::cuda {

inline constexpr std::int64_t kMostMedianRows = 256;

// median[t]: the element of rank count / 2 of rows[s dim + t], s < count <= kMostMedianRows, by the first 24 bits of
// their differences from the first in fp32: the median, or another of about its value. Asynchronous.
void median_of_rows(const double* rows, std::int64_t count, std::int64_t dim, double* median, cudaStream_t stream);

}  // namespace libknng::cuda
