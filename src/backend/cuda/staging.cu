#include "backend/cuda/staging.cuh"

namespace libknng::cuda {

Staging::Staging(std::int64_t largest, const Kit& kit, HostCopy host_copy)
    : bytes_(buffer_bytes(largest)), host_copy_(std::move(host_copy)) {
  for (int i = 0; i < 2; ++i) {
    if (bytes_ > Kit::kBufferBytes) own_[i].emplace(bytes_);
    buffers_[i] = own_[i] ? own_[i]->data() : kit.buffer(i);
  }
}

void Staging::upload(std::int64_t count, std::int64_t item_bytes,
                     const std::function<void(std::int64_t, std::int64_t, std::byte*)>& fill, void* device,
                     const Stream& stream) {
  auto* to = static_cast<std::byte*>(device);
  // An item longer than a buffer goes in pieces of a host copy of its own; rows of that length are rare.
  if (item_bytes > bytes_) {
    const Pinned one(item_bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      fill(i, 1, one.data());
      check(cudaMemcpyAsync(to + i * item_bytes, one.data(), static_cast<std::size_t>(item_bytes),
                            cudaMemcpyHostToDevice, stream));
      stream.wait();
    }
    return;
  }
  const std::int64_t together = bytes_ / item_bytes;
  int turn = 0;
  for (std::int64_t first = 0; first < count; first += together, turn ^= 1) {
    const std::int64_t part = std::min(together, count - first);
    done_[turn].wait();
    fill(first, part, buffers_[turn]);
    check(cudaMemcpyAsync(to + first * item_bytes, buffers_[turn], static_cast<std::size_t>(part * item_bytes),
                          cudaMemcpyHostToDevice, stream));
    done_[turn].record(stream);
  }
}

void Staging::download(const void* device, void* host, std::int64_t bytes, const Stream& stream) {
  const auto* from = static_cast<const std::byte*>(device);
  auto* to = static_cast<std::byte*>(host);
  const std::int64_t parts = (bytes + bytes_ - 1) / bytes_;
  const auto length = [&](std::int64_t part) { return std::min(bytes_, bytes - part * bytes_); };
  // Part p is copied out while part p + 1 comes in.
  for (std::int64_t p = 0; p <= parts; ++p) {
    if (p < parts) {
      done_[p % 2].hold(stream);  // the last upload may still read the buffer, on another stream
      check(cudaMemcpyAsync(buffers_[p % 2], from + p * bytes_, static_cast<std::size_t>(length(p)),
                            cudaMemcpyDeviceToHost, stream));
      done_[p % 2].record(stream);
    }
    if (p > 0) {
      done_[(p - 1) % 2].wait();
      host_copy_(to + (p - 1) * bytes_, buffers_[(p - 1) % 2], length(p - 1));
    }
  }
}

}  // namespace libknng::cuda
