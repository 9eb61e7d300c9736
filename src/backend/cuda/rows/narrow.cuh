// A graph's packed ids or values on their way into a matrix of another type, on one device: every element becomes what
// graph/narrow.h makes of it. Knows nothing of whose memory it is.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/seam.h"

namespace libknng::cuda {

// Of what no type failed to hold.
inline constexpr unsigned long long kAllFit = ~0ull;

// Rows [first, first + count) of the matrix from `packed`, elements of `dtype`, memory that the device reaches:
// KNNG_I64 are ids, to which `base` is added, KNNG_F32 and KNNG_F64 values. first_unfit, in device memory, becomes the
// smallest number of an element, counted by rows of the matrix, that its type cannot hold. Asynchronous; the matrix's
// device is current.
void narrow(const void* packed, std::int32_t dtype, std::int64_t base, const knng_backend_matrix& m, std::int64_t first,
            std::int64_t count, unsigned long long* first_unfit, cudaStream_t stream);

}  // namespace libknng::cuda
