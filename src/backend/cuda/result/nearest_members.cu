#include "backend/cuda/result/nearest_members.cuh"

#include <cub/block/block_scan.cuh>

#include "backend/cuda/base/check.cuh"

namespace libknng::cuda {
namespace {

// Threads of a row. A warp is enough for short lists.
constexpr int kFewThreads = 32, kManyThreads = 256;
constexpr std::int64_t kFewSlots = 128;

constexpr std::uint32_t kAnyId = 0xffffffff;

// The first i in [first, last) for which f(i) holds, or last; f changes once.
template <class I, class F>
__device__ I first_that(I first, I last, F&& f) {
  while (first < last) {
    const I middle = first + (last - first) / 2;
    if (f(middle))
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

// The groups whose members can be a row's nearest, ascending by key: its own, then those of its group's list.
class RowGroups {
 public:
  __device__ RowGroups(const MembersJob& job, std::uint32_t row)
      : job_(job), row_(row), own_(job.group[row]), list_(own_ * job.listed) {}

  __device__ std::int64_t size() const { return job_.listed + 1; }
  __device__ double key(std::int64_t i) const { return i == 0 ? 0.0 : job_.keys[list_ + i - 1]; }
  // Members up to that id, the row itself left out.
  __device__ std::uint32_t count(std::int64_t i, std::uint32_t last_id) const {
    const std::uint32_t group = number(i), begin = job_.starts[group], end = job_.starts[group + 1];
    const std::uint32_t beyond =
        last_id == kAnyId ? end : first_that(begin, end, [&](std::uint32_t at) { return job_.members[at] > last_id; });
    return beyond - begin - (i == 0 && row_ <= last_id);
  }
  // One of them by its place among them.
  __device__ std::uint32_t member(std::int64_t i, std::uint32_t place) const {
    const std::uint32_t* const at = job_.members + job_.starts[number(i)] + place;
    return i == 0 && *at >= row_ ? at[1] : *at;
  }

 private:
  __device__ std::uint32_t number(std::int64_t i) const {
    return i == 0 ? own_ : static_cast<std::uint32_t>(job_.ids[list_ + i - 1]);
  }

  const MembersJob& job_;
  const std::uint32_t row_, own_;
  const std::int64_t list_;
};

// What the threads of a row share. All of them call what is here and are synchronised after.
template <int kThreads>
struct Shared {
  using Scan = cub::BlockScan<std::uint32_t, kThreads>;
  typename Scan::TempStorage scan;
  std::uint32_t ends[kThreads];
  double key;

  // Of the members up to that id in groups [first, last).
  __device__ std::uint32_t count(const RowGroups& groups, std::int64_t first, std::int64_t last,
                                 std::uint32_t last_id) {
    std::uint32_t own = 0, total = 0;
    for (std::int64_t i = first + threadIdx.x; i < last; i += kThreads) own += groups.count(i, last_id);
    Scan(scan).InclusiveSum(own, own, total);
    __syncthreads();
    return total;
  }

  // The key of the `wanted`-th of all members, groups taken one after the other.
  __device__ double key_of_last(const RowGroups& groups, std::uint32_t wanted) {
    std::uint32_t before = 0;
    for (std::int64_t base = 0; base < groups.size() && before < wanted; base += kThreads) {
      const std::int64_t i = base + threadIdx.x;
      const std::uint32_t own = i < groups.size() ? groups.count(i, kAnyId) : 0;
      std::uint32_t end = 0, total = 0;
      Scan(scan).InclusiveSum(own, end, total);
      if (before + end >= wanted && before + end - own < wanted) key = groups.key(i);
      before += total;
      __syncthreads();
    }
    return key;
  }

  // Writes them from place `at` on and returns the place behind the last. Each thread finds the group of what it writes
  // among the ends of as many groups as there are threads, so that large groups are everybody's.
  __device__ std::uint32_t write(const RowGroups& groups, std::int64_t first, std::int64_t last, std::uint32_t last_id,
                                 double* keys, std::uint32_t* ids, std::uint32_t at) {
    for (std::int64_t base = first; base < last; base += kThreads) {
      const std::int64_t i = base + threadIdx.x;
      const std::uint32_t own = i < last ? groups.count(i, last_id) : 0;
      std::uint32_t end = 0, total = 0;
      Scan(scan).InclusiveSum(own, end, total);
      ends[threadIdx.x] = end;
      __syncthreads();
      for (std::uint32_t place = threadIdx.x; place < total; place += kThreads) {
        const int turn = first_that(0, kThreads - 1, [&](int t) { return ends[t] > place; });
        keys[at + place] = groups.key(base + turn);
        ids[at + place] = groups.member(base + turn, place - (turn > 0 ? ends[turn - 1] : 0));
      }
      at += total;
      __syncthreads();
    }
    return at;
  }
};

// One block a row. Groups nearer than the last one that is wanted are taken whole. Those at its key form a run, of
// which the smallest ids are taken: up to the smallest id with which there are enough.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    gather_members(const __grid_constant__ MembersJob job, const __grid_constant__ RowEntries entries) {
  __shared__ Shared<kThreads> shared;
  const RowGroups groups(job, static_cast<std::uint32_t>(job.first + blockIdx.x));
  const auto wanted = static_cast<std::uint32_t>(entries.slots);
  double* const keys = entries.keys + blockIdx.x * entries.slots;
  std::uint32_t* const ids = entries.ids + blockIdx.x * entries.slots;

  const double key = shared.key_of_last(groups, wanted);
  const std::int64_t begin = first_that<std::int64_t>(0, groups.size(), [&](auto i) { return groups.key(i) >= key; });
  const std::int64_t end = first_that<std::int64_t>(begin, groups.size(), [&](auto i) { return groups.key(i) > key; });

  const std::uint32_t taken = shared.write(groups, 0, begin, kAnyId, keys, ids, 0), missing = wanted - taken;
  std::uint32_t last_id = kAnyId;
  if (shared.count(groups, begin, end, kAnyId) > missing)
    last_id = first_that<std::uint32_t>(0, static_cast<std::uint32_t>(job.rows - 1),
                                        [&](auto id) { return shared.count(groups, begin, end, id) >= missing; });
  const std::uint32_t filled = shared.write(groups, begin, end, last_id, keys, ids, taken);
  if (threadIdx.x == 0) entries.filled[blockIdx.x] = static_cast<std::int32_t>(filled);
}

}  // namespace

void nearest_members(const MembersJob& job, const RowEntries& entries, cudaStream_t stream) {
  if (job.count == 0) return;
  const auto blocks = static_cast<unsigned>(job.count);
  if (entries.slots <= kFewSlots)
    gather_members<kFewThreads><<<blocks, kFewThreads, 0, stream>>>(job, entries);
  else
    gather_members<kManyThreads><<<blocks, kManyThreads, 0, stream>>>(job, entries);
  check_launch();
}

}  // namespace libknng::cuda
