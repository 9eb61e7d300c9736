#include "backend/cuda/keys/exact_rows.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/orderable.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/select/select.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kBinsPerThread = kBins / kThreads;
constexpr int kIdBits = 32, kCodeBits = 64 + kIdBits;  // of (key, id)
constexpr std::int64_t kSpare = 1024;  // entries beyond k + 1: selection ends once a digit leaves no more than these

struct Batch {
  const double* keys;          // count x columns
  const std::uint32_t* ids;    // of each key the column, of which a row has some in no order; null: it has all
  const std::int32_t* counts;  // by row: how many; null: all
  const std::int64_t* list;
  Admission admission;
  std::int64_t k, columns;
  RowEntries entries;
  unsigned long long* evaluated;  // counts keys
};

// One row's keys, and the digits that are known of the last (key, id) that belongs.
class Keys {
 public:
  __device__ Keys(const Batch& b, std::int64_t place)
      : keys_(b.keys + place * b.columns),
        ids_(b.ids ? b.ids + place * b.columns : nullptr),
        admission_(b.admission.of(b.list[place])),
        count_(b.counts ? b.counts[place] : b.columns) {}

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
__global__ void __launch_bounds__(kThreads) smallest_keys(Batch b) {
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
  atomicAdd(b.evaluated, static_cast<unsigned long long>(n + (b.ids ? b.k : 0)));  // its list, too
}

// Under inner_product the row's key with itself is like any other, and was computed with them.
__global__ void copy_self_keys(Batch b, std::int64_t count) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (place >= count) return;
  const std::int64_t self = b.admission.of(b.list[place]).excluded;
  b.entries.self_keys[place] = b.keys[place * b.columns + self];
}

struct Arrays {
  void* rows;  // of all keys
  void* columns;
  double* keys;  // with a filter, lows before
  double *u, *limits;
  std::byte* operands;
  std::uint32_t* ids;
  std::int32_t* counts;
  RowEntries entries;
};

std::int64_t lay_out(const ExactJob& job, void* memory, Arrays& a) {
  const std::int64_t rows = job.rows_at_a_time, dim = job.columns.rows.dim, n = job.columns.rows.rows;
  Workspace space(memory);
  a.keys = space.take<double>(rows * std::max(n, leading_dimension(n) / 2));
  a.entries.slots = std::min(job.k + 1 + kSpare, n);
  a.entries.keys = space.take<double>(rows * a.entries.slots);
  a.entries.ids = space.take<std::uint32_t>(rows * a.entries.slots);
  a.entries.filled = space.take<std::int32_t>(rows);
  const bool self_keys = wants_self_keys(job.metric, job.k, job.result.width);
  a.entries.self_keys = self_keys ? space.take<double>(rows) : nullptr;
  // One or the other, as there may be no lows after all.
  Workspace of_all = space, of_some = space;
  a.rows = of_all.take<unsigned char>(direct_operand_bytes(rows, dim));
  a.columns = of_all.take<unsigned char>(direct_operand_bytes(std::min(n, job.columns_at_a_time), dim));
  if (job.filter.operand_bytes > 0) {
    a.operands = of_some.take<std::byte>(rows * job.filter.operand_bytes);
    a.ids = of_some.take<std::uint32_t>(rows * n);
    a.counts = of_some.take<std::int32_t>(rows);
    a.u = of_some.take<double>(rows * dim);
    a.limits = of_some.take<double>(rows);
  }
  return std::max(of_all.used(), of_some.used());
}

// Keys of rows [done, done + count) of the list with all columns. `columns` stays from one call to the next.
void find_all_keys(const ExactJob& job, std::int64_t done, std::int64_t count, const Arrays& arrays,
                   DirectOperand& columns, cudaStream_t stream) {
  const std::int64_t n = job.columns.rows.rows, step = std::min(n, job.columns_at_a_time);
  const DirectOperand rows = job.rows_picked
                                 ? make_direct_operand(job.rows, nullptr, done, count, arrays.rows, stream)
                                 : make_direct_operand(job.rows, job.list + done, 0, count, arrays.rows, stream);
  for (std::int64_t first = 0; first < n; first += step) {
    if (done == 0 || step < n)
      columns = make_direct_operand(job.columns_from ? job.columns_from(first) : job.columns, nullptr,
                                    job.columns_from ? 0 : first, std::min(step, n - first), arrays.columns, stream);
    direct_tile(job.metric, rows, columns, arrays.keys + first, n, job.parts, stream);
  }
}

// The same with those columns alone that may belong to a row.
void find_some_keys(const ExactJob& job, std::int64_t done, std::int64_t count, const Arrays& arrays,
                    cudaStream_t stream) {
  ContendersJob some;
  some.rows = job.rows;
  some.columns = job.columns;
  some.metric = job.metric;
  some.admission = job.admission;
  some.list = job.list + done;
  some.count = count;
  some.k = job.k;
  some.width = job.result.width;
  some.listed = job.filter.listed + done * some.width;
  some.parts = job.parts;
  some.u = arrays.u;
  some.limits = arrays.limits;
  some.ids = arrays.ids;
  some.keys = arrays.keys;
  some.counts = arrays.counts;
  some.self_keys = arrays.entries.self_keys;
  find_limits(some, stream);
  const std::int64_t ld = leading_dimension(job.columns.rows.rows);
  auto* const tile = reinterpret_cast<float*>(arrays.keys);
  find_contenders(some, job.filter.lows(some.list, count, tile, ld, arrays.operands), stream);
  keys_of_contenders(some, stream);
}

}  // namespace

std::int64_t exact_workspace_bytes(const ExactJob& job) {
  Arrays arrays{};
  return lay_out(job, nullptr, arrays);
}

void exact_rows(const ExactJob& job, cudaStream_t stream) {
  Arrays arrays{};
  lay_out(job, job.workspace, arrays);
  DirectOperand columns;
  for (std::int64_t done = 0; done < job.count; done += job.rows_at_a_time) {
    const std::int64_t count = std::min(job.rows_at_a_time, job.count - done);
    const std::int64_t* list = job.list + done;
    const bool some = static_cast<bool>(job.filter.lows);
    if (some)
      find_some_keys(job, done, count, arrays, stream);
    else
      find_all_keys(job, done, count, arrays, columns, stream);
    const Batch batch{arrays.keys,
                      some ? arrays.ids : nullptr,
                      some ? arrays.counts : nullptr,
                      list,
                      job.admission,
                      job.k,
                      job.columns.rows.rows,
                      arrays.entries,
                      &job.result.findings->keys};
    smallest_keys<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(batch);
    check_launch();
    if (arrays.entries.self_keys && !some) {
      copy_self_keys<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(batch, count);
      check_launch();
    }
    ResultJob store;
    store.entries = arrays.entries;
    store.list = list;
    store.count = count;
    store.k = job.k;
    store.columns = job.columns.rows.rows;
    store.admission = job.admission;
    store_result(store, job.metric, job.result, stream);
  }
}

}  // namespace libknng::cuda
