// Functions of the CUDA driver, found at run time: the plugin is not linked to libcuda, which only machines with a GPU
// have. Knows nothing of what they are for.
#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

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

// Of the current context: no other has it, had it or will have it. 0: the driver does not say.
inline unsigned long long context_id() {
  static const auto ask = driver_function<PFN_cuCtxGetId_v12000>("cuCtxGetId", 12000);
  unsigned long long id = 0;
  return ask && ask(nullptr, &id) == CUDA_SUCCESS ? id : 0;
}

}  // namespace libknng::cuda
