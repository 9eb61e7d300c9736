// A pool of a device's memory, owned: what is freed goes to the next array, until the pool ends. Pools that no other
// device reads are kept then, with some memory, for whoever wants one next. To make one takes as long as a graph of
// some thousand points; memory for that of 20,000 takes the system a millisecond. Other devices may read
// a pool where they can; access between whole devices is not enabled. Knows nothing of who counts bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

namespace libknng::cuda {

// Whether there is a way at all by which a device reads another's memory.
bool can_read(int reader, int device) noexcept;

class MemoryPool {
 public:
  // readers: devices that may read it; those that cannot are passed over. expected: bytes that will be taken at once.
  explicit MemoryPool(int device, std::span<const std::int32_t> readers = {}, std::int64_t expected = 0);
  // What is kept on a device, at most: a 24th of its memory, and 5 GiB. And what is, on the current one.
  static std::int64_t most_kept(int device) noexcept;
  static std::int64_t bytes_kept() noexcept;
  // What was freed on streams that are done is given back to the system, all but what is kept.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // To be freed by cudaFreeAsync().
  void* take(std::int64_t bytes, cudaStream_t stream);
  // Gives what is free back to the system; what was freed on a stream that is done.
  void trim();
  // Gives back what pools hold that are kept on the current device.
  static void empty_kept();
  // Whether kernels of that other device read what is taken.
  bool is_read_by(int device) const noexcept;

 private:
  void create();
  bool let_read(int reader) noexcept;

  const int device_;
  const bool is_shared_;
  const unsigned long long context_;
  cudaMemPool_t pool_ = nullptr;
  std::vector<int> readers_;
};

}  // namespace libknng::cuda
