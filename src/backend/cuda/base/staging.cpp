#include "backend/cuda/base/staging.cuh"

#include <algorithm>

namespace libknng::cuda {

void Staging::upload(std::int64_t count, std::int64_t item_bytes, const Fill& fill, void* device,
                     const Stream& stream) {
  finish();
  auto* to = static_cast<std::byte*>(device);
  // An item longer than a buffer goes in a host copy of its own; rows of that length are rare.
  if (item_bytes > HandleCache::kBufferBytes) {
    const Pinned one(item_bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!fill(i, 1, one.data())) throw Cancelled{};
      check(cudaMemcpyAsync(to + i * item_bytes, one.data(), static_cast<std::size_t>(item_bytes),
                            cudaMemcpyHostToDevice, stream));
      stream.wait();
    }
    return;
  }
  const std::int64_t together = HandleCache::kBufferBytes / item_bytes;
  int turn = 0;
  for (std::int64_t first = 0; first < count; first += together, turn = (turn + 1) % HandleCache::kBuffers) {
    const std::int64_t part = std::min(together, count - first);
    std::byte* const buffer = handles_.buffer(turn);
    done_[turn].wait();
    if (!fill(first, part, buffer)) {
      stream.wait();  // parts before it, whose buffers others will get
      throw Cancelled{};
    }
    check(cudaMemcpyAsync(to + first * item_bytes, buffer, static_cast<std::size_t>(part * item_bytes),
                          cudaMemcpyHostToDevice, stream));
    done_[turn].record(stream);
  }
}

void Staging::ask(std::span<const Outgoing> all, const Stream& stream) {
  std::int64_t used = HandleCache::kBufferBytes;  // of the buffer that is filled; there is none yet
  const auto send = [&] {
    done_[asked_ % HandleCache::kBuffers].record(stream);
    ++asked_;
  };
  for (const Outgoing& one : all)
    for (std::int64_t at = 0, bytes = 0; at < one.bytes; at += bytes) {
      if (used == HandleCache::kBufferBytes) {
        if (asked_ - emptied_ == HandleCache::kBuffers) empty_oldest();
        done_[asked_ % HandleCache::kBuffers].hold(stream);  // the last upload may still read it, on another stream
        parts_[asked_ % HandleCache::kBuffers].clear();
        used = 0;
      }
      const std::int64_t turn = asked_ % HandleCache::kBuffers;
      bytes = std::min(HandleCache::kBufferBytes - used, one.bytes - at);
      std::byte* const here = handles_.buffer(static_cast<int>(turn)) + used;
      parts_[turn].push_back({here, static_cast<std::byte*>(one.to) + at, bytes});
      check(cudaMemcpyAsync(here, static_cast<const std::byte*>(one.from) + at, static_cast<std::size_t>(bytes),
                            cudaMemcpyDeviceToHost, stream));
      used += bytes;
      if (used == HandleCache::kBufferBytes) send();
    }
  if (used < HandleCache::kBufferBytes) send();
}

void Staging::finish() {
  while (emptied_ < asked_) empty_oldest();
}

// Copies it out while those behind it come in.
void Staging::empty_oldest() {
  const std::int64_t turn = emptied_ % HandleCache::kBuffers;
  done_[turn].wait();
  for (const Outgoing& part : parts_[turn]) host_copy_(part.to, part.from, part.bytes);
  ++emptied_;
}

}  // namespace libknng::cuda
