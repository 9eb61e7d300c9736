#include "backend/cuda/keys/smallest_keys.cuh"

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/orderable.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kBinsPerThread = kBins / kThreads;
constexpr int kIdBits = 32, kCodeBits = 64 + kIdBits;  // of (key, id)

// One row's keys, and the digits that are known of the last (key, id) that belongs.
class Keys {
 public:
  __device__ Keys(const SmallestJob& b, std::int64_t place)
      : keys_(b.keys + place * b.columns),
        ids_(b.ids ? b.ids + place * b.columns : nullptr),
        admission_(b.admission.of(b.list[place])),
        count_(!b.counts                      ? b.columns
               : b.counts[place] <= b.columns ? b.counts[place]
                                              : 0) {}

  // Of those that there are; of those that may be neighbours.
  __device__ std::int64_t count() const { return count_; }
  __device__ std::int64_t admitted() const { return ids_ ? count_ : admission_.count(count_); }
  __device__ bool admits(std::int64_t j) const { return ids_ || admission_.admits(j); }
  __device__ double key(std::int64_t j) const { return keys_[j]; }
  __device__ std::uint32_t id(std::int64_t j) const { return ids_ ? ids_[j] : static_cast<std::uint32_t>(j); }

  // The digit above bit `shift` of kCodeBits, for those with the digits known.
  __device__ bool has_known_digits(std::int64_t j) const { return order(j) == 0; }
  __device__ bool comes_before_or_has(std::int64_t j) const { return order(j) <= 0; }
  __device__ unsigned digit(std::int64_t j, int shift, unsigned bins) const {
    const std::uint64_t word = shift >= kIdBits ? orderable(key(j)) >> (shift - kIdBits) : id(j) >> shift;
    return static_cast<unsigned>(word) & (bins - 1);
  }
  __device__ void know(unsigned digit, int shift, unsigned bins) {
    if (shift >= kIdBits) {
      key_ |= std::uint64_t{digit} << (shift - kIdBits);
      key_mask_ |= std::uint64_t{bins - 1} << (shift - kIdBits);
    } else {
      id_ |= digit << shift;
      id_mask_ |= (bins - 1) << shift;
    }
  }

 private:
  // Below, at, or above the known digits.
  __device__ int order(std::int64_t j) const {
    const std::uint64_t key_digits = orderable(key(j)) & key_mask_;
    if (key_digits != key_) return key_digits < key_ ? -1 : 1;
    if (id_mask_ == 0) return 0;
    const std::uint32_t id_digits = id(j) & id_mask_;
    return id_digits == id_ ? 0 : id_digits < id_ ? -1 : 1;
  }

  const double* keys_;
  const std::uint32_t* ids_;
  RowAdmission admission_;
  std::int64_t count_;
  std::uint64_t key_ = 0, key_mask_ = 0;
  std::uint32_t id_ = 0, id_mask_ = 0;
};

// The sum of x over the threads before this one, and over all. Leaves the block synchronised.
__device__ unsigned exclusive_sum(unsigned x, unsigned* warp_sums, unsigned& all) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned inclusive = x;
#pragma unroll
  for (unsigned h = 1; h < 32; h *= 2) {
    const unsigned lower = __shfl_up_sync(0xffffffff, inclusive, h);
    if (lane >= h) inclusive += lower;
  }
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  unsigned before = 0;
  all = 0;
#pragma unroll
  for (unsigned w = 0; w < kThreads / 32; ++w) {
    if (w == warp) before = all;
    all += warp_sums[w];
  }
  __syncthreads();
  return before + inclusive - x;
}

// Which bin has the wanted-th smallest, and how many lie in bins before it.
struct Bin {
  unsigned index, before, size;
};

__device__ Bin find_bin(const unsigned* histogram, unsigned wanted, unsigned* warp_sums, Bin& found) {
  unsigned own = 0, all = 0;
  const unsigned first = threadIdx.x * kBinsPerThread;
#pragma unroll
  for (unsigned i = 0; i < kBinsPerThread; ++i) own += histogram[first + i];
  unsigned before = exclusive_sum(own, warp_sums, all);
  if (before < wanted && wanted <= before + own) {
    unsigned i = first;
    while (before + histogram[i] < wanted) before += histogram[i++];
    found = {i, before, histogram[i]};
  }
  __syncthreads();
  return found;
}

// One block a row: radix select (Alabi et al. 2012) of the k + 1 smallest by (key, id). From the top digit down, only
// keys that share the digits known so far are counted; reading ends when few enough are left for the sort that follows.
__global__ void __launch_bounds__(kThreads) select_smallest(SmallestJob b) {
  __shared__ unsigned histogram[kBins];
  __shared__ unsigned warp_sums[kThreads / 32];
  __shared__ Bin found;
  __shared__ unsigned taken;
  const std::int64_t place = blockIdx.x;
  Keys keys(b, place);
  const std::int64_t n = keys.count();
  const auto slots = static_cast<unsigned>(b.entries.slots);
  const auto wanted = static_cast<unsigned>(min(b.k + 1, keys.admitted()));

  if (threadIdx.x == 0) taken = 0;
  unsigned below = 0;  // keys that lie below the known digits
  bool few = keys.admitted() <= b.entries.slots;
  for (int top = kCodeBits; !few;) {
    const int bits = min(kDigitBits, top > kIdBits ? top - kIdBits : top), shift = top - bits;
    const unsigned bins = 1u << bits;
    for (unsigned i = threadIdx.x; i < kBins; i += kThreads) histogram[i] = 0;
    __syncthreads();
    for (std::int64_t j = threadIdx.x; j < n; j += kThreads)
      if (keys.has_known_digits(j) && keys.admits(j)) atomicAdd(&histogram[keys.digit(j, shift, bins)], 1u);
    __syncthreads();
    const Bin bin = find_bin(histogram, wanted - below, warp_sums, found);
    below += bin.before;
    keys.know(bin.index, shift, bins);
    few = below + bin.size <= slots;  // no two have all digits in common, so that the last one ends it
    top = shift;
  }

  __syncthreads();
  for (std::int64_t j = threadIdx.x; j < n; j += kThreads) {
    if (!keys.comes_before_or_has(j) || !keys.admits(j)) continue;
    const std::int64_t at = place * b.entries.slots + atomicAdd(&taken, 1u);
    b.entries.keys[at] = keys.key(j);
    b.entries.ids[at] = keys.id(j);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  b.entries.filled[place] = static_cast<std::int32_t>(taken);
  atomicAdd(b.evaluated, static_cast<unsigned long long>(n));
}

}  // namespace

void smallest_keys(const SmallestJob& job, cudaStream_t stream) {
  if (job.count == 0) return;
  select_smallest<<<static_cast<unsigned>(job.count), kThreads, 0, stream>>>(job);
  check_launch();
}

}  // namespace libknng::cuda
