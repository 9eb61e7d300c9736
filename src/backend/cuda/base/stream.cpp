#include "backend/cuda/base/stream.cuh"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include "backend/cuda/base/driver.cuh"

namespace libknng::cuda {
namespace {

// As many as some sessions have at a time.
constexpr std::size_t kMostKept = 16;

struct KeptStream {
  unsigned long long context;
  Stream::Priority priority;
  cudaStream_t stream;
};

std::mutex mutex;
// Never ended: at the end of a process there may be no CUDA any more. After the host program has reset a device its
// streams are nobody's: no later context is theirs.
std::vector<KeptStream>& kept() {
  static auto& all = *new std::vector<KeptStream>;
  return all;
}

// The one that was given back last, so that calls that are alike have the same: cuBLAS takes some microseconds more for
// a stream that it has not seen.
cudaStream_t take_kept(unsigned long long context, Stream::Priority priority) {
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(kept().rbegin(), kept().rend(), [=](const KeptStream& one) {
    return one.context == context && one.priority == priority;
  });
  if (found == kept().rend()) return nullptr;
  const cudaStream_t stream = found->stream;
  kept().erase(std::next(found).base());
  return stream;
}

bool keep(const KeptStream& one) noexcept try {
  const std::lock_guard lock(mutex);
  if (kept().size() == kMostKept) return false;
  kept().push_back(one);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool is_done(cudaStream_t stream) noexcept {
  if (cudaStreamQuery(stream) == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

}  // namespace

Stream::Stream(Priority priority) : priority_(priority), context_(context_id()) {
  if (context_ != 0) stream_ = take_kept(context_, priority);
  if (stream_) return;
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority == Priority::high ? greatest : least));
}

Stream::~Stream() {
  const bool may_stay = context_ != 0 && context_id() == context_ && is_done(stream_);
  if (!may_stay || !keep({context_, priority_, stream_})) cudaStreamDestroy(stream_);
}

}  // namespace libknng::cuda
