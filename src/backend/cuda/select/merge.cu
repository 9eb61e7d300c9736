#include "backend/cuda/select/merge.cuh"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/select/held_keys.cuh"
#include "backend/cuda/select/highest_bound.cuh"
#include "backend/cuda/select/kth_smallest.cuh"
#include "backend/cuda/select/sorted_list.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

// Of a list that now has `size` candidates, the k nearest of which have keys up to `highest`. A list that has lost
// something keeps nothing at or above `dropped`, so that what is above it need not be looked at any more: such a pair
// has a low above the new cut-off, which is no less than dropped. What is claimed of the list, that pairs neither in it
// nor above a proved cut-off have lows of at least dropped, stays true. cutoff: as it was.
__device__ void finish(const CandidateLists& lists, std::int64_t l, int size, int k, float highest, float cutoff,
                       float dropped) {
  lists.counts[l] = size;
  lists.dropped[l] = dropped;
  lists.cutoffs[l] = fminf(size >= k ? fminf(cutoff, highest) : cutoff, dropped);
}

// The i-th list of a job.
__device__ std::int64_t list_of(const MergeJob& job, std::int64_t i) { return job.numbers ? job.numbers[i] : i; }

// ---- lists that a warp holds in registers, ascending

// As many keys are put in one by one; sorting 32 takes as long.
constexpr int kInsertedOneByOne = 8;

// A list takes little work and several reads from far away: whatever does not depend on another is asked for at once.
template <int kHeld>
__device__ void merge_sorted(const CandidateLists& lists, std::int64_t l, const Incoming& incoming,
                             const Bounds& bounds) {
  using List = SortedList<kHeld>;
  const int arriving = min(incoming.counts[l], incoming.capacity), before = lists.counts[l];
  const float cutoff = lists.cutoffs[l];
  float dropped = lists.dropped[l];
  if (arriving <= 0) return;
  Candidate* const entries = lists.entries + l * lists.capacity;
  const auto arrival = [&](int start) {
    const int i = start + List::lane();
    return i < arriving ? make_key(incoming.entries[l * incoming.capacity + i]) : kNoKey;
  };
  Key next = arrival(0);
  List list;
#pragma unroll
  for (int h = 0; h < kHeld; ++h) list.keys[h] = List::place(h) < before ? make_key(entries[List::place(h)]) : kNoKey;
  Key lost = kNoKey;
  for (int start = 0; start < arriving; start += 32) {
    const Key mine = next;
    next = arrival(start + 32);
    if (const int left = arriving - start; left <= kInsertedOneByOne)
      for (int j = 0; j < left; ++j) lost = smaller(lost, list.insert(__shfl_sync(0xffffffffU, mine, j)));
    else
      lost = smaller(lost, list.merge(sort_warp(mine)));
  }
  const int size = min(before + arriving, lists.capacity);
  float highest = -infinity();
#pragma unroll
  for (int h = 0; h < kHeld; ++h)
    if (List::place(h) < min(size, bounds.k)) highest = fmaxf(highest, upper_bound(bounds, l, candidate(list.keys[h])));
  highest = from_ordered(warp_max(ordered(highest)));
#pragma unroll
  for (int h = 0; h < kHeld; ++h) {
    const int place = List::place(h);
    if (place < size)
      entries[place] = candidate(list.keys[h]);
    else
      lost = smaller(lost, list.keys[h]);
  }
  lost = smallest_of_lanes(lost);
  if (List::lane() != 0) return;
  if (lost != kNoKey) dropped = fminf(dropped, low_of(lost));
  finish(lists, l, size, bounds.k, highest, cutoff, dropped);
}

// What takes longer to launch than to merge goes together. blockIdx.y: which. There may be no columns.
struct BothSides {
  MergeJob rows, columns;
  __device__ const MergeJob& mine() const { return blockIdx.y == 0 ? rows : columns; }
};

// Many warps wait for memory at a time. Some registers are spilled for that, which takes less than it saves.
template <int kHeld>
constexpr int kMergingBlocks = kHeld == 1   ? 8
                               : kHeld == 2 ? 6
                               : kHeld == 4 ? 5
                                            : 4;

template <int kHeld>
__global__ void __launch_bounds__(kThreads, kMergingBlocks<kHeld>)
    merge_sorted_lists(const __grid_constant__ BothSides sides) {
  const MergeJob& job = sides.mine();
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i < job.count) merge_sorted<kHeld>(job.lists, list_of(job, i), job.incoming, job.bounds);
}

// A list and what comes in, as one array.
struct Both {
  const Candidate* list;
  const Candidate* incoming;
  int in_list;
  __device__ Key operator()(int i) const { return make_key(i < in_list ? list[i] : incoming[i - in_list]); }
};

// ---- longer lists, in no order, whose keys two warps hold in registers. One would hold twice as many, so that a
// multiprocessor had as many lists in work, and half the warps to go on with while some wait.

using Holders = Group<2>;
struct HoldersState {
  HeldScratch<Holders::warps> scratch;
  unsigned highest[Holders::warps];
  int count;
};

// The largest `up` of the nearest, as highest_of_nearest() has it.
template <int kHeld>
__device__ float highest_of_held(const Key (&keys)[kHeld], int held, Key last, const Bounds& bounds, std::int64_t l,
                                 HoldersState& state) {
  unsigned highest = 0;
  each_held<kHeld>(held, [&](int h) {
    if (keys[h] <= last) highest = max(highest, ordered(upper_bound(bounds, l, candidate(keys[h]))));
  });
  highest = warp_max(highest);
  if (Holders::lane() == 0) state.highest[threadIdx.x / 32] = highest;
  Holders::sync();
  return from_ordered(max(state.highest[0], state.highest[1]));
}

template <int kHeld>
__device__ void merge_held(const CandidateLists& lists, std::int64_t l, const Incoming& incoming, const Bounds& bounds,
                           HoldersState& state) {
  constexpr int kStep = Holders::threads;
  const int thread = Holders::thread();
  const int arriving = min(incoming.counts[l], incoming.capacity), before = lists.counts[l], all = before + arriving;
  Candidate* const list = lists.entries + l * lists.capacity;
  const Both both{list, incoming.entries + l * incoming.capacity, before};
  const int held = ceil_div(all, kStep), size = min(all, lists.capacity);
  Key keys[kHeld];
  each_held<kHeld>(held, [&](int h) { keys[h] = h * kStep + thread < all ? both(h * kStep + thread) : kNoKey; });
  Holders::sync();  // both have read how many there were
  float highest = infinity(), dropped = lists.dropped[l];
  if (size >= bounds.k) {
    const Key last = kth_of_held<Holders::warps>(keys, held, all, bounds.k, state.scratch);
    highest = highest_of_held(keys, held, last, bounds, l, state);
  }
  if (all > lists.capacity) {
    // The C + 1st is the smallest that goes. Every key has been read when it is known.
    const Key end = kth_of_held<Holders::warps>(keys, held, all, lists.capacity + 1, state.scratch);
    dropped = fminf(dropped, low_of(end));
    int own = 0;
    each_held<kHeld>(held, [&](int h) { own += __popc(__ballot_sync(0xffffffffU, keys[h] < end)); });
    if (thread == 0) state.count = own;
    Holders::sync();
    int place = thread < 32 ? 0 : state.count;
    each_held<kHeld>(held, [&](int h) {
      const bool stays = keys[h] < end;
      const unsigned votes = __ballot_sync(0xffffffffU, stays);
      if (stays) list[place + __popc(votes & lanes_before())] = candidate(keys[h]);
      place += __popc(votes);
    });
  } else {
    each_held<kHeld>(held, [&](int h) {
      const int i = h * kStep + thread;
      if (i >= before && i < all) list[i] = candidate(keys[h]);
    });
  }
  if (thread == 0) finish(lists, l, size, bounds.k, highest, lists.cutoffs[l], dropped);
}

// A block a list.
template <int kHeld>
__global__ void __launch_bounds__(Holders::threads) merge_held_lists(const __grid_constant__ MergeJob job) {
  __shared__ HoldersState state;
  const std::int64_t l = list_of(job, blockIdx.x);
  if (job.incoming.counts[l] > 0) merge_held<kHeld>(job.lists, l, job.incoming, job.bounds, state);
}

// ---- lists that are longer still, each worked on by a block

constexpr int kWarps = kThreads / 32;

struct MergeState {
  HighestScratch<kWarps> highest;
  int count;
};

// The entries whose keys are below `end` to the front, then the incoming ones that are.
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

__device__ void merge_one(const CandidateLists& lists, std::int64_t l, const Incoming& incoming, const Bounds& bounds,
                          MergeState& state) {
  using Threads = Group<kWarps>;
  const int arriving = min(incoming.counts[l], incoming.capacity), before = lists.counts[l], all = before + arriving;
  Candidate* const list = lists.entries + l * lists.capacity;
  const Candidate* const more = incoming.entries + l * incoming.capacity;
  const int size = min(all, lists.capacity);
  // The C + 1st is the smallest that goes.
  const Key end = all > lists.capacity
                      ? kth_smallest<kWarps>(Both{list, more, before}, all, lists.capacity + 1, state.highest.scratch)
                      : kNoKey;
  gather_below(end, list, before, more, arriving, &state.count);
  const float highest =
      size >= bounds.k ? highest_of_nearest<kWarps>(CandidateArray{list}, size, bounds, l, state.highest) : infinity();
  if (Threads::thread() == 0) {
    const float dropped = end == kNoKey ? lists.dropped[l] : fminf(lists.dropped[l], low_of(end));
    finish(lists, l, size, bounds.k, highest, lists.cutoffs[l], dropped);
  }
  Threads::sync();
}

__global__ void __launch_bounds__(kThreads) merge_long_lists(const __grid_constant__ MergeJob job) {
  __shared__ MergeState state;
  for (std::int64_t i = blockIdx.x; i < job.count; i += gridDim.x)
    if (const std::int64_t l = list_of(job, i); job.incoming.counts[l] > 0)
      merge_one(job.lists, l, job.incoming, job.bounds, state);
}

// dropped and cutoffs of two devices' lists.
__global__ void lower_both(const CandidateLists into, const CandidateLists from, const std::uint32_t* numbers,
                           std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::int64_t l = numbers ? numbers[i] : i;
  into.dropped[l] = fminf(into.dropped[l], from.dropped[l]);
  into.cutoffs[l] = fminf(into.cutoffs[l], from.cutoffs[l]);
}

void run(const BothSides& sides, cudaStream_t stream) {
  const std::int64_t most = std::max(sides.rows.count, sides.columns.count);
  if (most == 0) return;
  const auto sorted = [&]<int kHeld>(std::integral_constant<int, kHeld>) {
    const dim3 blocks(static_cast<unsigned>(ceil_div(most, kWarps)), sides.columns.count > 0 ? 2 : 1);
    merge_sorted_lists<kHeld><<<blocks, kThreads, 0, stream>>>(sides);
    check_launch();
  };
  const auto for_each_side = [&](std::int64_t most_blocks, int threads, auto kernel) {
    for (const MergeJob& job : {sides.rows, sides.columns}) {
      if (job.count == 0) continue;
      kernel<<<static_cast<unsigned>(std::min(job.count, most_blocks)), threads, 0, stream>>>(job);
      check_launch();
    }
  };
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  const std::int64_t capacity = sides.rows.lists.capacity, keys = capacity + sides.rows.incoming.capacity;
  if (capacity <= 32)
    sorted(std::integral_constant<int, 1>());
  else if (capacity <= 64)
    sorted(std::integral_constant<int, 2>());
  else if (capacity <= 128)
    sorted(std::integral_constant<int, 4>());
  else if (capacity <= kLongestSorted)
    sorted(std::integral_constant<int, kLongestSorted / 32>());
  else if (keys <= Holders::threads * 24)
    for_each_side(kAll, Holders::threads, merge_held_lists<24>);
  else if (keys <= Holders::threads * 48)
    for_each_side(kAll, Holders::threads, merge_held_lists<48>);
  else
    for_each_side(1 << 20, kThreads, merge_long_lists);
}

}  // namespace

void merge(const MergeJob& job, cudaStream_t stream) { run({job, {}}, stream); }

void merge(const MergeJob& rows, const MergeJob& columns, cudaStream_t stream) { run({rows, columns}, stream); }

void merge_lists(const CandidateLists& into, const CandidateLists& from, const std::uint32_t* numbers,
                 std::int64_t count, const Bounds& bounds, cudaStream_t stream) {
  if (count == 0) return;
  lower_both<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(into, from, numbers, count);
  check_launch();
  merge({into, count, {from.entries, from.counts, from.capacity}, bounds, numbers}, stream);
}

}  // namespace libknng::cuda
