// The threads that work on one list: a warp, or a block of several warps. Every function must be called by all of them.
#pragma once

#include <cuda_runtime.h>

namespace libknng::cuda {

template <int kWarps>
struct Group {
  static constexpr int warps = kWarps;
  static constexpr int threads = 32 * kWarps;

  static __device__ int lane() { return static_cast<int>(threadIdx.x & 31U); }
  static __device__ int thread() { return kWarps == 1 ? lane() : static_cast<int>(threadIdx.x); }
  static __device__ void sync() {
    if constexpr (kWarps == 1)
      __syncwarp();
    else
      __syncthreads();
  }
  // Orders memory as sync() does.
  static __device__ bool any(bool mine) {
    if constexpr (kWarps == 1) {
      const bool result = __any_sync(0xffffffffU, mine) != 0;
      __syncwarp();
      return result;
    } else {
      return __syncthreads_or(mine) != 0;
    }
  }
};

// Lanes before this one in its warp.
__device__ inline unsigned lanes_before() { return (1U << (threadIdx.x & 31U)) - 1U; }

// Room for every lane whose `mine` is true at the end of a shared array of *size elements; one atomic a warp. Returns
// the lane's place. komarov-2014, "GPU-Based Quick Multi-Select": the ballot's bits before a lane count its place.
__device__ inline int append_place(int* size, bool mine) {
  const unsigned votes = __ballot_sync(0xffffffffU, mine);
  int place = 0;
  if (votes != 0) {  // the same for all lanes
    if ((threadIdx.x & 31U) == 0) place = atomicAdd(size, __popc(votes));
    place = __shfl_sync(0xffffffffU, place, 0);
  }
  return place + __popc(votes & lanes_before());
}

}  // namespace libknng::cuda
