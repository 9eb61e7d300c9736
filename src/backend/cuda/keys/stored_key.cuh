// How memory keeps a canonical key: as it is, or as a lower bound that selectors take.
#pragma once

namespace libknng::cuda {

__device__ inline void store_key(double* at, double key) { *at = key; }
__device__ inline void store_key(float* at, double key) { *at = __double2float_rd(key); }

}  // namespace libknng::cuda
