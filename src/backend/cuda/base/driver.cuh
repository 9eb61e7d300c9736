// Functions of the CUDA driver, found at run time: the plugin is not linked to libcuda, which only machines with a GPU
// have. Knows nothing of what they are for.
#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include "backend/cuda/base/check.cuh"

namespace libknng::cuda {

// As of `version` (1000 major + 10 minor); null: the driver has none.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
  static_cast<void>(version);
  const cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (status != cudaSuccess) cudaGetLastError();
  const bool there = status == cudaSuccess && result == cudaDriverEntryPointSuccess;
  return reinterpret_cast<Function>(there ? found : nullptr);
}

// The driver's codes are the runtime's.
inline void check(CUresult code, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (code != CUDA_SUCCESS) fail(static_cast<cudaError_t>(code), file, line);
}

// Of the current context: no other has it, had it or will have it. A thread without one gets that of its device, as
// from any call that needs one. 0: the driver does not say.
inline unsigned long long context_id() {
  static const auto current = driver_function<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000);
  static const auto ask = driver_function<PFN_cuCtxGetId_v12000>("cuCtxGetId", 12000);
  CUcontext context = nullptr;
  if (!current || !ask || current(&context) != CUDA_SUCCESS) return 0;
  int device = 0;
  if (!context && (cudaGetDevice(&device) != cudaSuccess || cudaSetDevice(device) != cudaSuccess)) {
    cudaGetLastError();
    return 0;
  }
  unsigned long long id = 0;
  return ask(nullptr, &id) == CUDA_SUCCESS ? id : 0;
}

}  // namespace libknng::cuda
