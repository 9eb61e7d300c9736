#include "backend/cuda/select/merge.cuh"

#include <algorithm>

#include "backend/cuda/check.cuh"
#include "backend/cuda/select/kth_smallest.cuh"

namespace libknng::cuda {
namespace {

// Longer lists than this are worked on by a block each, shorter ones by a warp.
constexpr int kWarpEntries = 512;
constexpr int kWarpsOfBlock = 8;

// A list and what comes in, as one array.
struct Both {
  const Candidate* list;
  const Candidate* incoming;
  int in_list;
  __device__ Key operator()(int i) const { return make_key(i < in_list ? list[i] : incoming[i - in_list]); }
};

template <int kWarps>
struct MergeState {
  KthScratch<kWarps> scratch;
  int count;
  unsigned highest;  // ordered()
};

// The entries whose keys are below `end` to the front, then the incoming ones that are.
template <int kWarps>
__device__ void gather_below(Key end, Candidate* list, int in_list, const Candidate* incoming, int arriving,
                             int* counter) {
  using Threads = Group<kWarps>;
  if (Threads::thread() == 0) *counter = 0;
  Threads::sync();
  for (int start = 0; start < in_list; start += Threads::threads) {
    const int i = start + Threads::thread();
    Candidate mine{};
    if (i < in_list) mine = list[i];
    Threads::sync();  // read before it is written over: places run behind
    const bool stays = i < in_list && make_key(mine) < end;
    const int place = append_place(counter, stays);
    if (stays) list[place] = mine;
    Threads::sync();
  }
  for (int start = 0; start < arriving; start += Threads::threads) {
    const int i = start + Threads::thread();
    Candidate mine{};
    if (i < arriving) mine = incoming[i];
    const bool stays = i < arriving && make_key(mine) < end;
    const int place = append_place(counter, stays);
    if (stays) list[place] = mine;
  }
  Threads::sync();
}

// An upper bound of the list's k-th smallest key: k different candidates have keys up to the largest `up` of the k of
// smallest low. (The k-th smallest `up` may be smaller, but needs b of every candidate, each a read from anywhere.)
template <int kWarps>
__device__ float proved_cutoff(const Candidate* list, int size, const Bounds& bounds, std::int64_t l,
                               MergeState<kWarps>& state) {
  using Threads = Group<kWarps>;
  const Both entries{list, nullptr, size};
  const Key last = kth_smallest<kWarps>(entries, size, bounds.k, state.scratch);
  if (Threads::thread() == 0) state.highest = 0;
  Threads::sync();
  for (int i = Threads::thread(); i < size; i += Threads::threads) {
    const Candidate c = list[i];
    if (make_key(c) > last) continue;
    float up = bounds.sums ? bounds.sums->up(c.low) : next_up(c.low);
    if (bounds.of_id) up = __fadd_ru(c.low, __fmul_ru(2.0F, __fadd_ru(bounds.of_list[l], __ldg(bounds.of_id + c.id))));
    atomicMax(&state.highest, ordered(up));
  }
  Threads::sync();
  return from_ordered(state.highest);
}

template <int kWarps>
__device__ void merge_one(const CandidateLists& lists, std::int64_t l, const Incoming& incoming, const Bounds& bounds,
                          MergeState<kWarps>& state) {
  using Threads = Group<kWarps>;
  const int arriving = incoming.counts[l], before = lists.counts[l], all = before + arriving;
  Candidate* list = lists.entries + l * lists.capacity;
  const Candidate* more = incoming.entries + l * incoming.capacity;
  float dropped = lists.dropped[l];

  Key end = ~Key{0};
  if (all > lists.capacity) {
    // The C + 1st is the smallest that goes.
    end = kth_smallest<kWarps>(Both{list, more, before}, all, lists.capacity + 1, state.scratch);
    dropped = fminf(dropped, low_of(end));
  }
  gather_below<kWarps>(end, list, before, more, arriving, &state.count);
  const int size = min(all, lists.capacity);

  float cutoff = lists.cutoffs[l];
  if (size >= bounds.k) cutoff = fminf(cutoff, proved_cutoff<kWarps>(list, size, bounds, l, state));
  // A list that has lost something keeps nothing at or above `dropped`, so that what is above it need not be looked at
  // any more: such a pair has a low above the new cut-off, which is no less than dropped. What is claimed of the list,
  // that pairs neither in it nor above a proved cut-off have lows of at least dropped, stays true.
  cutoff = fminf(cutoff, dropped);
  if (Threads::thread() == 0) {
    lists.counts[l] = size;
    lists.dropped[l] = dropped;
    lists.cutoffs[l] = cutoff;
  }
  Threads::sync();
}

template <int kWarps>
__global__ void __launch_bounds__(32 * kWarpsOfBlock)
    merge_all(const CandidateLists lists, std::int64_t count, const Incoming incoming, const Bounds bounds) {
  constexpr int groups = kWarps == 1 ? kWarpsOfBlock : 1;
  __shared__ MergeState<kWarps> states[groups];
  const int group = kWarps == 1 ? static_cast<int>(threadIdx.x / 32) : 0;
  for (std::int64_t l = static_cast<std::int64_t>(blockIdx.x) * groups + group; l < count;
       l += static_cast<std::int64_t>(gridDim.x) * groups)
    if (incoming.counts[l] > 0) merge_one<kWarps>(lists, l, incoming, bounds, states[group]);
}

// dropped and cutoffs of two devices' lists.
__global__ void lower_both(const CandidateLists into, const CandidateLists from, std::int64_t count) {
  const std::int64_t l = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (l >= count) return;
  into.dropped[l] = fminf(into.dropped[l], from.dropped[l]);
  into.cutoffs[l] = fminf(into.cutoffs[l], from.cutoffs[l]);
}

}  // namespace

void merge(const CandidateLists& lists, std::int64_t count, const Incoming& incoming, const Bounds& bounds,
           cudaStream_t stream) {
  if (count == 0) return;
  constexpr std::int64_t most_blocks = 1 << 20;
  if (lists.capacity + incoming.capacity <= kWarpEntries) {
    const auto blocks = std::min((count + kWarpsOfBlock - 1) / kWarpsOfBlock, most_blocks);
    merge_all<1><<<static_cast<unsigned>(blocks), 32 * kWarpsOfBlock, 0, stream>>>(lists, count, incoming, bounds);
  } else {
    merge_all<kWarpsOfBlock><<<static_cast<unsigned>(std::min(count, most_blocks)), 32 * kWarpsOfBlock, 0, stream>>>(
        lists, count, incoming, bounds);
  }
  check_launch();
}

void merge_lists(const CandidateLists& into, const CandidateLists& from, std::int64_t count, const Bounds& bounds,
                 cudaStream_t stream) {
  if (count == 0) return;
  constexpr unsigned threads = 256;
  lower_both<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(into, from, count);
  check_launch();
  merge(into, count, {from.entries, from.counts, from.capacity}, bounds, stream);
}

}  // namespace libknng::cuda
