// What the programs of this folder share: a device or 77, arrays on it, and checks that count. Plain C++: a failed
// check goes on, so that one run on a borrowed machine shows them all.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backend/cuda/base/check.cuh"
#include "tests/harness/small_run.h"

namespace gpu {

using libknng::cuda::check;

inline int failures = 0;
inline long long checks = 0;

// Prints the first failures only.
[[gnu::format(printf, 2, 3)]] inline bool expect(bool truth, const char* format, ...) {
  ++checks;
  if (truth) return true;
  if (++failures <= 40) {
    std::va_list arguments;
    va_start(arguments, format);
    std::fputs("FAILED: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
  }
  return false;
}

// Ends the program with 77 where there is no GPU.
inline void need_device() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return;
  std::printf("skipped: %s\n", status == cudaSuccess ? "no CUDA device" : cudaGetErrorString(status));
  std::exit(77);
}

inline int result() {
  std::printf("%lld checks, %d failed\n", checks, failures);
  return failures == 0 && checks > 0 ? 0 : 1;
}

// Done when they return, for streams that do not wait for the default one: copies from ordinary host memory may be
// in flight when cudaMemcpy() returns.
inline void copy(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  check(cudaStreamSynchronize(nullptr));
}
inline void set(void* to, int byte, std::size_t bytes) {
  check(cudaMemset(to, byte, bytes));
  check(cudaStreamSynchronize(nullptr));
}

template <class T>
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) { check(cudaMalloc(&data_, (count + 1) * sizeof(T))); }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    copy(data_, values.data(), count_ * sizeof(T));
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* get() const { return data_; }
  std::size_t size() const { return count_; }
  void poison() { set(data_, 0xA5, count_ * sizeof(T)); }
  std::vector<T> values() const {
    std::vector<T> result(count_);
    check(cudaMemcpy(result.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace gpu
