#include "backend/cuda/base/memory_pool.cuh"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/base/driver.cuh"

namespace libknng::cuda {
namespace {

// Of a device: as many as a session, its results and some others hold at a time.
constexpr std::ptrdiff_t kMostKept = 4;
constexpr std::int64_t kShareKept = 24, kMostBytesKept = std::int64_t{5} << 30;

struct KeptPool {
  unsigned long long context;
  cudaMemPool_t pool;
};

std::mutex mutex;
// Never ended: at the end of a process there may be no CUDA any more. After the host program has reset a device its
// pools are nobody's and stay in the list, but for the next of another context they count as gone.
std::vector<KeptPool>& kept() {
  static auto& all = *new std::vector<KeptPool>;
  return all;
}

bool trim_to(std::size_t bytes, cudaMemPool_t pool) noexcept {
  if (cudaMemPoolTrimTo(pool, bytes) == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

// What it has got from the system and not given back.
std::int64_t bytes_of(cudaMemPool_t pool) noexcept {
  std::uint64_t bytes = 0;
  if (cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes) == cudaSuccess)
    return static_cast<std::int64_t>(bytes);
  cudaGetLastError();
  return 0;
}

// The smallest that holds what is expected, else the largest.
cudaMemPool_t take_kept(unsigned long long context, std::int64_t expected) {
  const std::lock_guard lock(mutex);
  auto best = kept().end();
  std::int64_t bytes_of_best = 0;
  for (auto pool = kept().begin(); pool != kept().end(); ++pool) {
    if (pool->context != context) continue;
    const std::int64_t bytes = bytes_of(pool->pool);
    const bool is_better =
        bytes_of_best < expected ? bytes > bytes_of_best : bytes >= expected && bytes < bytes_of_best;
    if (best != kept().end() && !is_better) continue;
    best = pool;
    bytes_of_best = bytes;
  }
  if (best == kept().end()) return nullptr;
  const cudaMemPool_t pool = best->pool;
  kept().erase(best);
  return pool;
}

bool keep(unsigned long long context, cudaMemPool_t pool, std::int64_t most) noexcept try {
  const std::lock_guard lock(mutex);
  std::ptrdiff_t number = 0;
  for (const KeptPool& other : kept()) {
    if (other.context != context) continue;
    ++number;
    most -= bytes_of(other.pool);
  }
  if (number >= kMostKept || !trim_to(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)), pool)) return false;
  kept().push_back({context, pool});
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace

std::int64_t MemoryPool::most_kept(int device) noexcept {
  return std::min(properties_if_known(device).memory / kShareKept, kMostBytesKept);
}

std::int64_t MemoryPool::bytes_kept() noexcept {
  const unsigned long long context = context_id();
  const std::lock_guard lock(mutex);
  std::int64_t bytes = 0;
  for (const KeptPool& pool : kept())
    if (pool.context == context) bytes += bytes_of(pool.pool);
  return bytes;
}

MemoryPool::MemoryPool(int device, std::span<const std::int32_t> readers, std::int64_t expected)
    : device_(device), is_shared_(!readers.empty()), context_(context_id()) {
  readers_.reserve(readers.size());
  if (!is_shared_ && context_ != 0) pool_ = take_kept(context_, expected);
  if (!pool_) create();
  for (const std::int32_t reader : readers)
    if (let_read(reader)) readers_.push_back(reader);
}

MemoryPool::~MemoryPool() {
  const bool may_stay = !is_shared_ && context_ != 0 && context_id() == context_;
  if (!may_stay || !keep(context_, pool_, most_kept(device_))) cudaMemPoolDestroy(pool_);
}

void MemoryPool::empty_kept() {
  const unsigned long long context = context_id();
  const std::lock_guard lock(mutex);
  for (const KeptPool& pool : kept())
    if (pool.context == context) trim_to(0, pool.pool);
}

void MemoryPool::create() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device_;
  check(cudaMemPoolCreate(&pool_, &properties));
  std::uint64_t all = UINT64_MAX;
  if (cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all) != cudaSuccess) cudaGetLastError();
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
  const auto allocate = [&] {
    return cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes), pool_, stream);
  };
  cudaError_t status = allocate();
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    empty_kept();
    trim_to(0, pool_);
    status = allocate();
  }
  check(status);
  return memory;
}

void MemoryPool::trim() { check(cudaMemPoolTrimTo(pool_, 0)); }

bool MemoryPool::is_read_by(int device) const noexcept {
  return std::find(readers_.begin(), readers_.end(), device) != readers_.end();
}

}  // namespace libknng::cuda
