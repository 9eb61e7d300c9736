#include "backend/cuda/base/handle_cache.cuh"

#include <map>
#include <mutex>
#include <vector>

#include "backend/cuda/base/driver.cuh"

namespace libknng::cuda {

struct HandleCache::Tools {
  const unsigned long long context = context_id();
  const Pinned memory{kBuffers * kBufferBytes};
  cublasHandle_t blas = nullptr;

  ~Tools() {
    if (blas) cublasDestroy(blas);
  }
  // Not after the host process has reset its device: then they are nobody's, or their addresses somebody else's.
  bool usable() const {
    if (context != context_id()) return false;
    cudaPointerAttributes a{};
    const bool known = cudaPointerGetAttributes(&a, memory.data()) == cudaSuccess;
    cudaGetLastError();
    return known && a.type == cudaMemoryTypeHost;
  }
};

namespace {

// Of as many sessions as work at a time on one device, and some.
constexpr std::size_t kMostKept = 4;

std::mutex mutex;
// Never ended: at the end of a process there may be no CUDA any more.
template <class Tools>
std::vector<std::unique_ptr<Tools>>& kept(int device) {
  static auto& all = *new std::map<int, std::vector<std::unique_ptr<Tools>>>;
  return all[device];
}

}  // namespace

HandleCache::HandleCache(int device, const Stream& stream) : device_(device), stream_(stream) {
  {
    const std::lock_guard lock(mutex);
    auto& there = kept<Tools>(device);
    there.reserve(kMostKept);  // so that giving back cannot fail
    if (!there.empty()) {
      tools_ = std::move(there.back());
      there.pop_back();
    }
  }
  // What a reset has taken away cannot be ended either.
  if (tools_ && !tools_->usable()) static_cast<void>(tools_.release());
  if (!tools_) tools_ = std::make_unique<Tools>();
}

HandleCache::~HandleCache() {
  if (cudaStreamSynchronize(stream_) != cudaSuccess) return;
  const std::lock_guard lock(mutex);
  auto& there = kept<Tools>(device_);
  if (there.size() < kMostKept) there.push_back(std::move(tools_));
}

std::byte* HandleCache::buffer(int i) const noexcept { return tools_->memory.data() + i * kBufferBytes; }

cublasHandle_t HandleCache::blas() {
  if (!tools_->blas) check(cublasCreate(&tools_->blas));
  return tools_->blas;
}

}  // namespace libknng::cuda
