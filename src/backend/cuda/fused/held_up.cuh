// Where warps of the fused kernels wait for each other, tell each other, or hand over, they are held up at random in a
// build for tests (KNNG_HELD_UP, gpu.fused_held_up): who relies on how long another warp takes is found out there.
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
