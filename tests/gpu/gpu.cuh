// What the programs of this folder share: a device or 77, arrays on it, and checks that are counted. A failed check
// goes on, so that one run shows them all; a program that checked nothing fails.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
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

// An array on the device, filled with one bits first, so that what a kernel does not write shows. Null if it is empty.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(std::int64_t count) : count_(count) {
    if (count == 0) return;
    check(cudaMalloc(&data_, bytes()));
    gpu::set(data_, 0xff, bytes());
  }
  explicit Array(const std::vector<T>& values) : Array(static_cast<std::int64_t>(values.size())) {
    if (count_ > 0) gpu::copy(data_, values.data(), bytes());
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() { cudaFree(data_); }

  T* get() const { return data_; }
  std::int64_t size() const { return count_; }
  void poison() { gpu::set(data_, 0xA5, bytes()); }
  std::vector<T> values() const {
    std::vector<T> result(static_cast<std::size_t>(count_));
    if (count_ > 0) gpu::copy(result.data(), data_, bytes());
    return result;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  void swap(Array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace gpu
