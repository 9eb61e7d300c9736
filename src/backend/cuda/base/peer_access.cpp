#include "backend/cuda/base/peer_access.cuh"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/cuda/base/memory.cuh"

namespace libknng::cuda {

void keep_peer_access_open(int device, std::span<const std::int32_t> readers) {
  // A way lasts as long as a pool that has had memory, even if it has none; it has the smallest amount that there is
  // for as long as the way is made, which nobody counts. Never ended: at the end of a process there may be no CUDA any
  // more. After the host process has reset a device they are useless and harmless.
  static std::mutex mutex;
  static auto& kept = *new std::map<std::pair<int, std::int32_t>, std::unique_ptr<MemoryPool>>;
  const std::lock_guard lock(mutex);
  for (const std::int32_t& reader : readers) {
    std::unique_ptr<MemoryPool>& way = kept[{device, reader}];
    if (way || !can_read(reader, device)) continue;
    auto pool = std::make_unique<MemoryPool>(device, std::span(&reader, 1));
    if (!pool->is_read_by(reader)) continue;
    try {
      const Stream stream;
      check(cudaFreeAsync(pool->take(1, stream), stream));
      stream.wait();
      pool->trim();
      way = std::move(pool);
    } catch (const CudaError& e) {  // without room for it the session may find some nevertheless
      if (e.kind() != CudaError::Kind::out_of_memory) throw;
    }
  }
}

}  // namespace libknng::cuda
