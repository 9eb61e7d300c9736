// Handles that are made once and kept for later sessions: one of cuBLAS, and some small page-locked buffers. Making or
// ending them takes milliseconds and waits for all streams of the device, the caller's included. Knows nothing of
// sessions.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <memory>

#include "backend/cuda/base/memory.cuh"

namespace libknng::cuda {

class HandleCache {
 public:
  static constexpr int kBuffers = 4;
  static constexpr std::int64_t kBufferBytes = std::int64_t{8} << 20;  // of each

  // One that nobody has, or a new one. The device is current, as when it ends: then the stream is waited for, and what
  // was taken is there for others.
  HandleCache(int device, const Stream& stream);
  ~HandleCache();
  HandleCache(const HandleCache&) = delete;
  HandleCache& operator=(const HandleCache&) = delete;

  std::byte* buffer(int i) const noexcept;
  // Made when it is first asked for.
  cublasHandle_t blas();

 private:
  struct Tools;
  int device_;
  const Stream& stream_;
  std::unique_ptr<Tools> tools_;
};

}  // namespace libknng::cuda
