// Copies between pageable host memory and the device through two page-locked buffers: while one is on its way the other
// is filled or emptied. Knows nothing of what is copied.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "backend/cuda/kit.cuh"
#include "backend/cuda/memory.cuh"

namespace libknng::cuda {

class Staging {
 public:
  // What copies within host memory.
  using HostCopy = std::function<void(void* to, const void* from, std::int64_t bytes)>;

  // largest: of the arrays that will be copied.
  Staging(std::int64_t largest, const Kit& kit, HostCopy host_copy);

  // `count` items of `item_bytes` to the device: fill(first, count, dst) is called for consecutive parts. Returns when
  // the last part is on its way; what follows on the stream finds all of it.
  void upload(std::int64_t count, std::int64_t item_bytes,
              const std::function<void(std::int64_t, std::int64_t, std::byte*)>& fill, void* device,
              const Stream& stream);
  // Bytes to host memory; returns when they are there.
  void download(const void* device, void* host, std::int64_t bytes, const Stream& stream);

  // longest: of the items. One that does not fit a buffer has memory of its own on its way.
  static std::int64_t host_bytes(std::int64_t largest, std::int64_t longest) {
    const std::int64_t buffer = buffer_bytes(largest);
    return 2 * buffer + (longest > buffer ? longest : 0);
  }

 private:
  // Through buffers of 16 MiB copies are twice as fast as through those of the kit, but to make them page-locked takes
  // as long as to copy some hundred MB.
  static constexpr std::int64_t kLargeBytes = std::int64_t{16} << 20, kWorthIt = std::int64_t{1} << 30;
  static std::int64_t buffer_bytes(std::int64_t largest) {
    return largest < kWorthIt ? Kit::kBufferBytes : kLargeBytes;
  }

  const std::int64_t bytes_;  // of one buffer
  const HostCopy host_copy_;
  std::optional<Pinned> own_[2];
  std::byte* buffers_[2];
  Event done_[2];
};

}  // namespace libknng::cuda
