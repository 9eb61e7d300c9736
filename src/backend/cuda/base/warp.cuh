// What the lanes of a warp make of a number of each, for all of them; every lane calls.
#pragma once

#include <cuda_runtime.h>

namespace libknng::cuda {

// op(a, b): commutative bit for bit, as sums of floats are too: every lane gets the same bits. Of kLanes neighbours.
template <int kLanes = 32, class T, class Op>
__device__ inline T fold_lanes(T mine, Op op) {
#pragma unroll
  for (int apart = kLanes / 2; apart > 0; apart /= 2) mine = op(mine, __shfl_xor_sync(0xffffffffU, mine, apart));
  return mine;
}

template <int kLanes = 32, class T>
__device__ inline T sum_of_lanes(T mine) {
  return fold_lanes<kLanes>(mine, [](T a, T b) { return a + b; });
}
// Of numbers; a NaN is passed over.
template <class T>
__device__ inline T smallest_of_lanes(T mine) {
  return fold_lanes(mine, [](T a, T b) { return min(a, b); });
}
template <class T>
__device__ inline T largest_of_lanes(T mine) {
  return fold_lanes(mine, [](T a, T b) { return max(a, b); });
}

// Of unsigned integers compute capability 8.0 and later have an instruction for each.
__device__ inline unsigned warp_sum(unsigned mine) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffU, mine);
#else
  return fold_lanes(mine, [](unsigned a, unsigned b) { return a + b; });
#endif
}
__device__ inline unsigned warp_min(unsigned mine) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffU, mine);
#else
  return fold_lanes(mine, [](unsigned a, unsigned b) { return min(a, b); });
#endif
}
__device__ inline unsigned warp_max(unsigned mine) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffU, mine);
#else
  return fold_lanes(mine, [](unsigned a, unsigned b) { return max(a, b); });
#endif
}
__device__ inline unsigned warp_and(unsigned mine) {
#if __CUDA_ARCH__ >= 800
  return __reduce_and_sync(0xffffffffU, mine);
#else
  return fold_lanes(mine, [](unsigned a, unsigned b) { return a & b; });
#endif
}

}  // namespace libknng::cuda
