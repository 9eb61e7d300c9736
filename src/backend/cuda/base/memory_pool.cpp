#include "backend/cuda/base/memory_pool.cuh"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/driver.cuh"

namespace libknng::cuda {
namespace {

// Of a device: as many as a session, its results and some others hold at a time, and what a small graph takes.
constexpr std::size_t kMostKept = 4;
constexpr std::size_t kBytesKept = std::size_t{64} << 20;

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

cudaMemPool_t take_kept(unsigned long long context) {
  const std::lock_guard lock(mutex);
  const auto of_context =
      std::find_if(kept().begin(), kept().end(), [context](const KeptPool& pool) { return pool.context == context; });
  if (of_context == kept().end()) return nullptr;
  const cudaMemPool_t pool = of_context->pool;
  kept().erase(of_context);
  return pool;
}

bool keep(unsigned long long context, cudaMemPool_t pool) noexcept try {
  const std::lock_guard lock(mutex);
  const auto number = std::count_if(kept().begin(), kept().end(),
                                    [context](const KeptPool& other) { return other.context == context; });
  if (static_cast<std::size_t>(number) >= kMostKept || !trim_to(kBytesKept, pool)) return false;
  kept().push_back({context, pool});
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace

MemoryPool::MemoryPool(int device, std::span<const std::int32_t> readers)
    : device_(device), is_shared_(!readers.empty()), context_(context_id()) {
  readers_.reserve(readers.size());
  if (!is_shared_ && context_ != 0) pool_ = take_kept(context_);
  if (!pool_) create();
  for (const std::int32_t reader : readers)
    if (let_read(reader)) readers_.push_back(reader);
}

MemoryPool::~MemoryPool() {
  const bool may_stay = !is_shared_ && context_ != 0 && context_id() == context_;
  if (!may_stay || !keep(context_, pool_)) cudaMemPoolDestroy(pool_);
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
