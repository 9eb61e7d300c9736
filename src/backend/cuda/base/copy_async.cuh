// Copies from global to shared memory that go on while the thread computes (cp.async, sm_80 and newer; before, plain
// copies). cuda_pipeline.h has the same, with warnings. Knows nothing of what is copied.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

namespace libknng::cuda {

// kBytes is 16 or 4; both addresses are multiples of it.
template <int kBytes = 16>
__device__ inline void copy_async(void* shared, const void* global) {
  static_assert(kBytes == 16 || kBytes == 4);
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(global) : "memory");
#else
  using Word = std::conditional_t<kBytes == 16, int4, int>;
  *static_cast<Word*>(shared) = *static_cast<const Word*>(global);
#endif
}

// 16 bytes, or as many zeros; zeros read nothing.
__device__ inline void copy_async_or_zero(void* shared, const void* global, bool copies) {
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(copies ? 16 : 0) : "memory");
#else
  *static_cast<int4*>(shared) = copies ? *static_cast<const int4*>(global) : int4{};
#endif
}

// Ends a group of copies.
__device__ inline void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  asm volatile("" ::: "memory");  // what was copied as whole words is read as anything
#endif
}

// Waits until at most kPending of this thread's groups are in flight.
template <int kPending>
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace libknng::cuda
