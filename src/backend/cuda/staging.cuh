// Copies between pageable host memory and the device through two page-locked buffers: while one is on its way the other
// is filled or emptied. Knows nothing of what is copied.
#pragma once

#include <cstdint>
#include <functional>

#include "backend/cuda/memory.cuh"

namespace libknng::cuda {

class Staging {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{4} << 20;  // of one buffer
  static constexpr std::int64_t kHostBytes = 2 * kMostBytes;

  // What copies within host memory.
  using HostCopy = std::function<void(void* to, const void* from, std::int64_t bytes)>;

  // largest: of the arrays that will be copied. Making page-locked memory takes longer than copying it.
  Staging(std::int64_t largest, HostCopy host_copy)
      : bytes_(std::clamp<std::int64_t>(largest, std::int64_t{64} << 10, kMostBytes)),
        host_copy_(std::move(host_copy)),
        buffers_{Pinned(bytes_), Pinned(bytes_)} {}

  // `count` items of `item_bytes` to the device: fill(first, count, dst) is called for consecutive parts. Returns when
  // the last part is on its way; what follows on the stream finds all of it.
  void upload(std::int64_t count, std::int64_t item_bytes,
              const std::function<void(std::int64_t, std::int64_t, std::byte*)>& fill, void* device,
              const Stream& stream);
  // Bytes to host memory; returns when they are there.
  void download(const void* device, void* host, std::int64_t bytes, const Stream& stream);

 private:
  const std::int64_t bytes_;  // of one buffer
  const HostCopy host_copy_;
  Pinned buffers_[2];
  Event done_[2];
};

}  // namespace libknng::cuda
