// A failed call of the CUDA runtime or cuBLAS as an exception. It stays inside the plugin: the entry turns it into the
// seam's error. Knows nothing of what was being done.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <exception>

namespace libknng::cuda {

class CudaError : public std::exception {
 public:
  // Out of memory has a kind of its own: the caller can free, take smaller tiles and try again.
  enum class Kind { out_of_memory, device };

  CudaError(Kind kind, int code, const char* text, const char* file, int line) noexcept;
  const char* what() const noexcept override { return text_; }
  Kind kind() const noexcept { return kind_; }
  int code() const noexcept { return code_; }

 private:
  Kind kind_;
  int code_;
  char text_[256];
};

// The library did not give rows that it was asked for, or does not want results any more. It knows why.
struct Cancelled {};

[[noreturn]] void fail(cudaError_t code, const char* file, int line);
[[noreturn]] void fail(cublasStatus_t code, const char* file, int line);

inline void check(cudaError_t code, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (code != cudaSuccess) fail(code, file, line);
}
inline void check(cublasStatus_t code, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (code != CUBLAS_STATUS_SUCCESS) fail(code, file, line);
}

// After a launch: what was wrong with its configuration.
inline void check_launch(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(cudaGetLastError(), file, line);
}

}  // namespace libknng::cuda
