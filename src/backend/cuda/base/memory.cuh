// Memory of a session, owned. Device memory comes from the session's own pool; large arrays may be mapped instead, and
// those of a small session are cut from one block. None of it disturbs memory of the process, and freeing waits for
// nobody else. All of it counts against max_device_bytes. Knows nothing of what the memory is for.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "backend/cuda/base/array_block.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/mapped_memory.cuh"
#include "backend/cuda/base/memory_pool.cuh"
#include "backend/cuda/base/peer_access.cuh"
#include "backend/cuda/base/stream.cuh"
#include "core/division.h"

namespace libknng::cuda {

// Who reads an array: the device it is on, or those beside it too, as far as they can.
enum class Reach { own, beside };

// A device's memory as one session sees it. The device is current.
class Pool {
 public:
  // maps: large arrays may be mapped. beside: devices that work beside this one. expected: bytes of a block.
  Pool(int device, std::int64_t limit, bool maps, std::span<const std::int32_t> beside, std::int64_t expected)
      : device_(device), maps_(maps && can_map_memory(device)), own_(device, {}, expected), limit_(limit) {
    if (beside.empty()) return;
    keep_peer_access_open(device, beside);
    shared_.emplace(device, beside);
  }

  void* take(std::int64_t bytes, Reach reach, const Stream& stream) {
    if (held_ + bytes > limit_)
      throw CudaError(CudaError::Kind::out_of_memory, cudaErrorMemoryAllocation, "max_device_bytes is used up",
                      __FILE__, __LINE__);
    void* memory = &pool_for(reach) == &own_ ? block_.take(bytes) : nullptr;
    if (!memory) memory = is_mapped(bytes) ? mapped(bytes, stream) : pool_for(reach).take(bytes, stream);
    held_ += bytes;
    peak_ = std::max(peak_, held_);
    return memory;
  }
  void give(void* memory, std::int64_t bytes, const Stream& stream) noexcept {
    if (block_.give(memory, bytes)) {
      // The next array has it.
    } else if (is_mapped(bytes)) {
      cudaStreamSynchronize(stream);
      unmap_memory(memory, bytes);
    } else {
      cudaFreeAsync(memory, stream);
    }
    held_ -= bytes;
  }
  // Arrays for which it has room are cut from a block of so many bytes from now on, to the end. If there is no room for
  // one, they are not.
  void take_block(std::int64_t bytes, const Stream& stream) try {
    block_ = {own_.take(bytes, stream), bytes};
    peak_ = std::max(peak_, bytes);
  } catch (const CudaError& e) {
    if (e.kind() != CudaError::Kind::out_of_memory) throw;
  }
  // When there are no arrays any more.
  void end(const Stream& stream) noexcept {
    if (block_.memory()) cudaFreeAsync(block_.memory(), stream);
    block_ = {};
  }
  // Gives what is free back to the system; what was freed on a stream that is done.
  void trim() {
    own_.trim();
    if (shared_) shared_->trim();
  }
  // Whether kernels of that device read arrays for devices beside this one.
  bool is_read_by(int device) const noexcept { return shared_ && shared_->is_read_by(device); }
  std::int64_t peak() const noexcept { return peak_; }

 private:
  bool is_mapped(std::int64_t bytes) const noexcept { return maps_ && bytes >= kFewestMapped; }
  MemoryPool& pool_for(Reach reach) noexcept { return reach == Reach::beside && shared_ ? *shared_ : own_; }
  void* mapped(std::int64_t bytes, const Stream& stream) try {
    return map_memory(device_, bytes);
  } catch (const CudaError& e) {
    if (e.kind() != CudaError::Kind::out_of_memory) throw;
    // What the pool keeps for others may be what is missing.
    stream.wait();
    trim();
    MemoryPool::empty_kept();
    return map_memory(device_, bytes);
  }

  const int device_;
  const bool maps_;
  MemoryPool own_;
  std::optional<MemoryPool> shared_;
  ArrayBlock block_;
  std::int64_t limit_, held_ = 0, peak_ = 0;
};

// Where a session's arrays come from: they are made and freed in the order of its stream. Ends after them. maps: other
// devices do not copy them, and the host program does not get them. beside: as Pool. block_bytes: what most of them are
// cut from; 0: nothing.
struct DeviceContext {
  DeviceContext(int number, std::int64_t limit, bool maps = false, std::span<const std::int32_t> beside = {},
                std::int64_t block_bytes = 0)
      : device(number), pool(number, limit, maps, beside, block_bytes) {
    if (block_bytes > 0) pool.take_block(block_bytes, stream);
  }
  // A pool that is kept gives back what is free by then.
  ~DeviceContext() {
    pool.end(stream);
    cudaStreamSynchronize(stream);
  }
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
  const int device;
  Pool pool;
  Stream stream;
};

constexpr std::int64_t kArrayAlignment = 256;
constexpr std::int64_t array_bytes(std::int64_t bytes) {
  const std::int64_t grain = bytes >= kFewestMapped ? kMappedGrain : kArrayAlignment;
  return round_up(std::max<std::int64_t>(bytes, 1), grain);
}

// An array in device memory, uninitialised.
template <class T>
class DeviceArray {
 public:
  DeviceArray() noexcept = default;
  DeviceArray(std::int64_t count, DeviceContext& context, Reach reach = Reach::own)
      : context_(&context), count_(count), bytes_(array_bytes(count * static_cast<std::int64_t>(sizeof(T)))) {
    data_ = static_cast<T*>(context.pool.take(bytes_, reach, context.stream));
  }
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    DeviceArray(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceArray() {
    if (data_) context_->pool.give(data_, bytes_, context_->stream);
  }

  T* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return count_; }
  void swap(DeviceArray& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
  }

 private:
  DeviceContext* context_ = nullptr;
  T* data_ = nullptr;
  std::int64_t count_ = 0, bytes_ = 0;
};

// A copy of host memory, which has been read by then.
template <class T>
DeviceArray<T> uploaded(std::span<const T> values, DeviceContext& context) {
  DeviceArray<T> array(static_cast<std::int64_t>(values.size()), context);
  check(cudaMemcpyAsync(array.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, context.stream));
  context.stream.wait();
  return array;
}

// Page-locked host memory for copies that do not wait.
class Pinned {
 public:
  explicit Pinned(std::int64_t bytes) { check(cudaMallocHost(&data_, static_cast<std::size_t>(bytes))); }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

}  // namespace libknng::cuda
