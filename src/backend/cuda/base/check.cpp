#include "backend/cuda/base/check.cuh"

#include <cstdio>
#include <cstring>

namespace libknng::cuda {

CudaError::CudaError(Kind kind, int code, const char* text, const char* file, int line) noexcept
    : kind_(kind), code_(code) {
  const char* name = std::strrchr(file, '/');
  std::snprintf(text_, sizeof text_, "%s (%d) at %s:%d", text, code, name ? name + 1 : file, line);
}

void fail(cudaError_t code, const char* file, int line) {
  // Reading it takes it away: an error that can be recovered from must not meet the host program's next call.
  cudaGetLastError();
  const auto kind = code == cudaErrorMemoryAllocation ? CudaError::Kind::out_of_memory : CudaError::Kind::device;
  throw CudaError(kind, static_cast<int>(code), cudaGetErrorString(code), file, line);
}

void fail(cublasStatus_t code, const char* file, int line) {
  const auto kind = code == CUBLAS_STATUS_ALLOC_FAILED ? CudaError::Kind::out_of_memory : CudaError::Kind::device;
  throw CudaError(kind, static_cast<int>(code), cublasGetStatusString(code), file, line);
}

}  // namespace libknng::cuda
