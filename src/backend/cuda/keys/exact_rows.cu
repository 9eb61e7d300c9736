#include "backend/cuda/keys/exact_rows.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/orderable.cuh"
#include "backend/cuda/base/workspace.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kBinsPerThread = kBins / kThreads;
constexpr std::int64_t kSpare = 1024;  // entries beyond k + 1: selection ends once a digit leaves no more than these

struct Batch {
  const double* keys;  // count x columns
  const std::int64_t* list;
  Admission admission;
  std::int64_t k, columns;
  RowEntries entries;
};

// One row's keys as selection sees them.
struct Keys {
  const double* keys;
  RowAdmission admission;
  std::uint64_t prefix = 0, mask = 0;  // the digits that are known of the last key that belongs

  __device__ std::uint64_t code(std::int64_t j) const { return orderable(keys[j]); }
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
  const std::int64_t place = blockIdx.x, row = b.list[place], n = b.columns;
  Keys keys{b.keys + place * n, b.admission.of(row)};
  const auto slots = static_cast<unsigned>(b.entries.slots);
  const auto wanted = static_cast<unsigned>(min(b.k + 1, keys.admission.count(n)));

  if (threadIdx.x == 0) taken = 0;
  unsigned below = 0;  // keys that lie below the known digits
  Bin bin{};
  bool all = false;  // of the keys with these digits belong to the entries
  for (int top = 64; top > 0 && !all;) {
    const int bits = min(kDigitBits, top), shift = top - bits;
    for (unsigned i = threadIdx.x; i < kBins; i += kThreads) histogram[i] = 0;
    __syncthreads();
    for (std::int64_t j = threadIdx.x; j < n; j += kThreads) {
      const std::uint64_t code = keys.code(j);
      if ((code & keys.mask) == keys.prefix && keys.admission.admits(j))
        atomicAdd(&histogram[code >> shift & ((1u << bits) - 1)], 1u);
    }
    __syncthreads();
    bin = find_bin(histogram, wanted - below, warp_sums, found);
    below += bin.before;
    keys.prefix |= static_cast<std::uint64_t>(bin.index) << shift;
    keys.mask |= ((std::uint64_t{1} << bits) - 1) << shift;
    all = below + bin.size <= slots;
    top = shift;
  }

  // Of equal keys too many, the smallest ids: these are counted in their order.
  const unsigned room = all ? bin.size : wanted - below;
  __syncthreads();
  unsigned seen = 0;
  for (std::int64_t base = 0; base < n; base += kThreads) {
    const std::int64_t j = base + threadIdx.x;
    bool takes = false, equal = false;
    if (j < n && keys.admission.admits(j)) {
      const std::uint64_t digits = keys.code(j) & keys.mask;
      equal = digits == keys.prefix;
      takes = digits < keys.prefix || (equal && all);
    }
    if (!all && seen < room) {
      unsigned count = 0;
      const unsigned before = exclusive_sum(equal ? 1u : 0u, warp_sums, count);
      takes = takes || (equal && seen + before < room);
      seen += count;
    }
    if (takes) {
      const std::int64_t at = place * b.entries.slots + atomicAdd(&taken, 1u);
      b.entries.keys[at] = keys.keys[j];
      b.entries.ids[at] = static_cast<std::uint32_t>(j);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) b.entries.filled[place] = static_cast<std::int32_t>(taken);
}

// Under inner_product the row's key with itself is like any other, and was computed with them.
__global__ void copy_self_keys(Batch b, std::int64_t count) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (place >= count) return;
  const std::int64_t self = b.admission.of(b.list[place]).excluded;
  b.entries.self_keys[place] = b.keys[place * b.columns + self];
}

struct Arrays {
  void* rows;
  void* columns;
  double* keys;
  RowEntries entries;
};

std::int64_t lay_out(const ExactJob& job, void* memory, Arrays& a) {
  const std::int64_t rows = job.rows_at_a_time, dim = job.columns.rows.dim, n = job.columns.rows.rows;
  Workspace space(memory);
  a.rows = space.take<unsigned char>(direct_operand_bytes(rows, dim));
  a.columns = space.take<unsigned char>(direct_operand_bytes(std::min(n, job.columns_at_a_time), dim));
  a.keys = space.take<double>(rows * n);
  a.entries.slots = std::min(job.k + 1 + kSpare, n);
  a.entries.keys = space.take<double>(rows * a.entries.slots);
  a.entries.ids = space.take<std::uint32_t>(rows * a.entries.slots);
  a.entries.filled = space.take<std::int32_t>(rows);
  const bool self_keys = wants_self_keys(job.metric, job.k, job.result.width);
  a.entries.self_keys = self_keys ? space.take<double>(rows) : nullptr;
  return space.used();
}

}  // namespace

std::int64_t exact_workspace_bytes(const ExactJob& job) {
  Arrays arrays{};
  return lay_out(job, nullptr, arrays);
}

void exact_rows(const ExactJob& job, cudaStream_t stream) {
  const std::int64_t n = job.columns.rows.rows, step = std::min(n, job.columns_at_a_time);
  Arrays arrays{};
  lay_out(job, job.workspace, arrays);
  DirectOperand columns;
  for (std::int64_t done = 0; done < job.count; done += job.rows_at_a_time) {
    const std::int64_t count = std::min(job.rows_at_a_time, job.count - done);
    const std::int64_t* list = job.list + done;
    const DirectOperand rows = job.rows_picked
                                   ? make_direct_operand(job.rows, nullptr, done, count, arrays.rows, stream)
                                   : make_direct_operand(job.rows, list, 0, count, arrays.rows, stream);
    for (std::int64_t first = 0; first < n; first += step) {
      if (done == 0 || step < n)
        columns = make_direct_operand(job.columns_from ? job.columns_from(first) : job.columns, nullptr,
                                      job.columns_from ? 0 : first, std::min(step, n - first), arrays.columns, stream);
      direct_tile(job.metric, rows, columns, arrays.keys + first, n, job.parts, stream);
    }
    const Batch batch{arrays.keys, list, job.admission, job.k, n, arrays.entries};
    smallest_keys<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(batch);
    check_launch();
    if (arrays.entries.self_keys) {
      copy_self_keys<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(batch, count);
      check_launch();
    }
    ResultJob store;
    store.entries = arrays.entries;
    store.list = list;
    store.count = count;
    store.k = job.k;
    store.columns = n;
    store.admission = job.admission;
    store_result(store, job.metric, job.result, stream);
  }
}

}  // namespace libknng::cuda
