// The hash of a row (dataset/fingerprint.h), computed on the device: XXH3 with 64 bits of its values as fp64, -0 as +0
// (Y. Collet, "XXH3", https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). Knows nothing of
// duplicates.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"

namespace libknng::cuda {

// hashes: memory that the device reaches, one for each row. Asynchronous.
void hash_rows(const DeviceRows& rows, std::uint64_t* hashes, cudaStream_t stream);

}  // namespace libknng::cuda
