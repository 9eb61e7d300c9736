#include "backend/cuda/base/memory_pool.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"

namespace libknng::cuda {

MemoryPool::MemoryPool(int device, std::span<const std::int32_t> readers) : device_(device) {
  readers_.reserve(readers.size());
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  check(cudaMemPoolCreate(&pool_, &properties));
  std::uint64_t keep = UINT64_MAX;
  if (cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep) != cudaSuccess) cudaGetLastError();
  for (const std::int32_t reader : readers)
    if (let_read(reader)) readers_.push_back(reader);
}

bool can_read(int reader, int device) noexcept {
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, reader, device) == cudaSuccess) return can != 0;
  cudaGetLastError();
  return false;
}

bool MemoryPool::let_read(int reader) noexcept {
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = reader;
  access.flags = cudaMemAccessFlagsProtReadWrite;  // there is no right to read alone
  if (!can_read(reader, device_)) return false;
  if (cudaMemPoolSetAccess(pool_, &access, 1) == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

void* MemoryPool::take(std::int64_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  check(cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes), pool_, stream));
  return memory;
}

void MemoryPool::trim() { check(cudaMemPoolTrimTo(pool_, 0)); }

bool MemoryPool::is_read_by(int device) const noexcept {
  return std::find(readers_.begin(), readers_.end(), device) != readers_.end();
}

}  // namespace libknng::cuda
