// What programs that test kernels share: whether there is a GPU, arrays on it, checks that say what they saw.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backend/cuda/base/check.cuh"
#include "tests/harness/small_run.h"

namespace libknng::cuda::test {

// Ends the program with 77 and a reason where there is no GPU.
inline void require_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  std::printf("skipped: no GPU (%s)\n", status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
  std::exit(77);
}

[[gnu::format(printf, 2, 3)]] inline void expect(bool holds, const char* format, ...) {
  if (holds) return;
  std::va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::exit(1);
}

// A device array; filled with ones bits first, so that what a kernel does not write shows.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(std::int64_t count) : count_(count) {
    if (count == 0) return;
    check(cudaMalloc(&data_, static_cast<std::size_t>(count) * sizeof(T)));
    check(cudaMemset(data_, 0xff, static_cast<std::size_t>(count) * sizeof(T)));
    check(cudaStreamSynchronize(nullptr));  // for streams that do not wait for the default one
  }
  explicit Array(const std::vector<T>& from) : Array(static_cast<std::int64_t>(from.size())) {
    if (count_ > 0) check(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    check(cudaStreamSynchronize(nullptr));  // it may be in flight
  }
  Array(Array&& other) noexcept : data_(other.data_), count_(other.count_) { other.data_ = nullptr; }
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }

  T* get() const { return data_; }
  std::int64_t size() const { return count_; }
  std::vector<T> read() const {
    std::vector<T> to(static_cast<std::size_t>(count_));
    if (count_ > 0) check(cudaMemcpy(to.data(), data_, to.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace libknng::cuda::test
