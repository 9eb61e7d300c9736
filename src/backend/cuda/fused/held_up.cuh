// Delays for tests: a build with KNNG_HELD_UP (gpu.fused_held_up) holds warps of the fused kernels up at random, at
// every barrier and hand-over. A warp that relies on how long another takes is found out there. Other builds have none.
#pragma once

#include <cuda_runtime.h>

namespace libknng::cuda::fused {

#if defined(KNNG_HELD_UP)
// A warp, one time in eight, for up to some 8 us: a stage of the pipeline takes a fraction of one.
__device__ inline void may_be_held_up() {
  unsigned x = static_cast<unsigned>(clock()) ^ blockIdx.x * 0x9e3779b9U ^ threadIdx.x / 32 * 0x85ebca6bU;
  x = (x ^ x >> 15) * 0x2c1b3c6dU;
  x = (x ^ x >> 12) * 0x297a2d39U;
  x ^= x >> 15;
  if (x % 8 == 0) __nanosleep(x >> 8 & 0xfff);
}
#else
__device__ inline void may_be_held_up() {}
#endif

}  // namespace libknng::cuda::fused
