// Copies between pageable host memory and the device through page-locked buffers: while one is filled or emptied others
// are on their way. Knows nothing of what is copied.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/memory.cuh"

namespace libknng::cuda {

// Bytes that leave device memory, or the buffer that they came to.
struct Outgoing {
  const void* from;
  void* to;
  std::int64_t bytes;
};

class Staging {
 public:
  // What copies within host memory.
  using HostCopy = std::function<void(void* to, const void* from, std::int64_t bytes)>;

  Staging(const HandleCache& handles, HostCopy host_copy) : handles_(handles), host_copy_(std::move(host_copy)) {}

  // Gives items [first, first + count), or false if there are none.
  using Fill = std::function<bool(std::int64_t first, std::int64_t count, std::byte* to)>;

  // `count` items of `item_bytes` to the device, in consecutive parts. Returns when the last part is on its way; what
  // follows on the stream finds all of it. Throws Cancelled.
  void upload(std::int64_t count, std::int64_t item_bytes, const Fill& fill, void* device, const Stream& stream);
  // To host memory: asks for all of them, one behind the other in as few buffers as hold them, and returns while the
  // last of these, as many as there are, are on their way; what follows on the stream may write where the bytes come
  // from.
  void ask(std::span<const Outgoing> all, const Stream& stream);
  // Returns when all that was asked for is there.
  void finish();
  // What is on its way goes nowhere.
  void forget() noexcept { emptied_ = asked_; }
  void download(std::span<const Outgoing> all, const Stream& stream) try {
    ask(all, stream);
    finish();
  } catch (...) {
    forget();
    throw;
  }
  void download(const void* from, void* to, std::int64_t bytes, const Stream& stream) {
    const Outgoing one{from, to, bytes};
    download(std::span(&one, 1), stream);
  }

  // longest: of the items. One that does not fit a buffer has memory of its own on its way.
  static std::int64_t host_bytes(std::int64_t longest) {
    return HandleCache::kBuffers * HandleCache::kBufferBytes + (longest > HandleCache::kBufferBytes ? longest : 0);
  }

 private:
  void empty_oldest();

  const HandleCache& handles_;
  const HostCopy host_copy_;
  Event done_[HandleCache::kBuffers];
  std::vector<Outgoing> parts_[HandleCache::kBuffers];  // what is in each, from its place there
  // Buffers, in turn, since the beginning: how many were asked for, and how many of them emptied.
  std::int64_t asked_ = 0, emptied_ = 0;
};

}  // namespace libknng::cuda
