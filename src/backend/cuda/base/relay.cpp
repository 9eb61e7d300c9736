#include "backend/cuda/base/relay.cuh"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "backend/cuda/base/current_device.cuh"
#include "backend/cuda/base/memory_pool.cuh"
#include "backend/cuda/base/peer_access.cuh"

namespace libknng::cuda {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{8} << 20, kFewestRelayed = 4 * kBlockBytes;
constexpr int kBlocks = 4;  // some are filled while one is read

// Blocks on a device that `reader` may read.
class Blocks {
 public:
  Blocks(int device, std::int32_t reader) : pool_(device, {&reader, 1}) {
    if (pool_.is_read_by(reader)) memory_ = static_cast<std::byte*>(pool_.take(kBlocks * kBlockBytes, stream_));
  }
  ~Blocks() {
    if (memory_) cudaFreeAsync(memory_, stream_);
    cudaStreamSynchronize(stream_);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // Null: there are none.
  std::byte* block(std::size_t i) const { return memory_ ? memory_ + i * kBlockBytes : nullptr; }
  const Stream& stream() const { return stream_; }

 private:
  const Stream stream_;
  MemoryPool pool_;
  std::byte* memory_ = nullptr;
};

}  // namespace

void relay(void* to, int device, const void* from, int from_device, std::int64_t bytes, const Stream& stream) {
  const auto as_the_driver_has_it = [&] {
    check(cudaMemcpyPeerAsync(to, device, from, from_device, static_cast<std::size_t>(bytes), stream));
  };
  if (bytes < kFewestRelayed || !can_read(device, from_device)) return as_the_driver_has_it();
  std::array<Event, kBlocks> read;  // of the stream's device
  const CurrentDevice other(from_device);
  const std::int32_t reader = device;
  keep_peer_access_open(from_device, {&reader, 1});
  std::array<Event, kBlocks> filled;
  std::optional<Blocks> blocks;
  try {
    blocks.emplace(from_device, reader);
  } catch (const CudaError& e) {
    if (e.kind() != CudaError::Kind::out_of_memory) throw;
  }
  if (!blocks || !blocks->block(0)) return as_the_driver_has_it();
  const UntilDone until(stream);  // before the blocks go
  std::size_t turn = 0;
  for (std::int64_t done = 0; done < bytes; done += kBlockBytes, turn = (turn + 1) % kBlocks) {
    const auto part = static_cast<std::size_t>(std::min(kBlockBytes, bytes - done));
    std::byte* const block = blocks->block(turn);
    read[turn].hold(blocks->stream());
    check(cudaMemcpyAsync(block, static_cast<const std::byte*>(from) + done, part, cudaMemcpyDeviceToDevice,
                          blocks->stream()));
    filled[turn].record(blocks->stream());
    filled[turn].hold(stream);
    const CurrentDevice here(device);  // which reaches both, unlike the other
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, block, part, cudaMemcpyDeviceToDevice, stream));
    read[turn].record(stream);
  }
}

}  // namespace libknng::cuda
