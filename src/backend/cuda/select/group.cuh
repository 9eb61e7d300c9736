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
__device__ inline unsigned lanes_before() {
  unsigned lanes;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
  return lanes;
}

// Adds a warp's `total` to *size, in shared memory, by lane 0: every lane gets what it was before. (Where a value is
// known to be the same for all lanes, atomicAdd() and the assembler add up first what all would bring, in many
// instructions. So that it is not known, lanes but 0 have another.)
__device__ inline int reserve(int* size, int total) {
  int before = 0;
  const int mine = total & ~static_cast<int>(lanes_before());
  if ((threadIdx.x & 31U) == 0) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(size));
    asm volatile("atom.shared.add.s32 %0, [%1], %2;" : "=r"(before) : "r"(at), "r"(mine) : "memory");
  }
  return __shfl_sync(0xffffffffU, before, 0);
}

// Places at the end of a shared array of *size elements for what the warp's lanes want to append, at most kCount each;
// one atomic a warp. komarov-2014, "GPU-Based Quick Multi-Select": the ballot's bits before a lane count its place.
template <int kCount>
__device__ void append_places(int* size, const bool (&wanted)[kCount], int (&place)[kCount]) {
  unsigned votes[kCount];
  int total = 0;
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    votes[u] = __ballot_sync(0xffffffffU, wanted[u]);
    total += __popc(votes[u]);
  }
  int base = total != 0 ? reserve(size, total) : 0;  // the same for all lanes
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    place[u] = base + __popc(votes[u] & lanes_before());
    base += __popc(votes[u]);
  }
}

__device__ inline int append_place(int* size, bool wanted) {
  const bool one[1] = {wanted};
  int place[1];
  append_places(size, one, place);
  return place[0];
}

}  // namespace libknng::cuda
