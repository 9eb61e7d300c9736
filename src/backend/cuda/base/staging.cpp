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
  for (const Outgoing& one : all)
    for (std::int64_t at = 0; at < one.bytes; at += HandleCache::kBufferBytes) {
      if (asked_ - emptied_ == HandleCache::kBuffers) empty_oldest();
      const std::int64_t turn = asked_ % HandleCache::kBuffers;
      const Outgoing part{static_cast<const std::byte*>(one.from) + at, static_cast<std::byte*>(one.to) + at,
                          std::min(HandleCache::kBufferBytes, one.bytes - at)};
      done_[turn].hold(stream);  // the last upload may still read the buffer, on another stream
      check(cudaMemcpyAsync(handles_.buffer(static_cast<int>(turn)), part.from, static_cast<std::size_t>(part.bytes),
                            cudaMemcpyDeviceToHost, stream));
      done_[turn].record(stream);
      parts_[turn] = part;
      ++asked_;
    }
}

void Staging::finish() {
  while (emptied_ < asked_) empty_oldest();
}

// Copies it out while those behind it come in.
void Staging::empty_oldest() {
  const std::int64_t turn = emptied_ % HandleCache::kBuffers;
  done_[turn].wait();
  host_copy_(parts_[turn].to, handles_.buffer(static_cast<int>(turn)), parts_[turn].bytes);
  ++emptied_;
}

}  // namespace libknng::cuda
