// Which types of 8 bits hold all values of a matrix. Knows nothing of whose memory it is.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"

namespace libknng::cuda {

// Of rows whose values are valid. Clears in *types, in device memory, the bits of types (core/byte_types.h) that do not
// hold every value. Asynchronous.
void find_byte_types(const DeviceRows& rows, std::uint32_t* types, cudaStream_t stream);

}  // namespace libknng::cuda
