#include "backend/cuda/select/merge.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/highest_bound.cuh"
#include "backend/cuda/select/kth_smallest.cuh"
#include "backend/cuda/select/sorted_list.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

// Of a list that now has `size` candidates, the k nearest of which have keys up to `highest`. A list that has lost
// something keeps nothing at or above `dropped`, so that what is above it need not be looked at any more: such a pair
// has a low above the new cut-off, which is no less than dropped. What is claimed of the list, that pairs neither in it
// nor above a proved cut-off have lows of at least dropped, stays true.
__device__ void finish(const CandidateLists& lists, std::int64_t l, int size, int k, float highest, float dropped) {
  lists.counts[l] = size;
  lists.dropped[l] = dropped;
  const float cutoff = lists.cutoffs[l];
  lists.cutoffs[l] = fminf(size >= k ? fminf(cutoff, highest) : cutoff, dropped);
}

// The lists that are worked on.
struct Listed {
  const std::uint32_t* numbers;  // null: all up to `count`
  std::int64_t count;
  __device__ std::int64_t operator[](std::int64_t i) const { return numbers ? numbers[i] : i; }
};

// ---- lists that a warp holds in registers, ascending

template <int kHeld>
__device__ void merge_sorted(const CandidateLists& lists, std::int64_t l, const Incoming& incoming,
                             const Bounds& bounds) {
  using List = SortedList<kHeld>;
  const int arriving = min(incoming.counts[l], incoming.capacity), before = lists.counts[l];
  Candidate* const entries = lists.entries + l * lists.capacity;
  const Candidate* const more = incoming.entries + l * incoming.capacity;
  List list;
#pragma unroll
  for (int h = 0; h < kHeld; ++h) list.keys[h] = List::place(h) < before ? make_key(entries[List::place(h)]) : kNoKey;
  Key lost = kNoKey;
  for (int start = 0; start < arriving; start += 32) {
    const int i = start + List::lane();
    lost = smaller(lost, list.merge(sort_warp(i < arriving ? make_key(more[i]) : kNoKey)));
  }
  const int size = min(before + arriving, lists.capacity);
  float highest = -infinity();
#pragma unroll
  for (int h = 0; h < kHeld; ++h) {
    const int place = List::place(h);
    if (place < size) {
      entries[place] = candidate(list.keys[h]);
      if (place < bounds.k) highest = fmaxf(highest, upper_bound(bounds, l, candidate(list.keys[h])));
    } else {
      lost = smaller(lost, list.keys[h]);
    }
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, apart));
  lost = smallest_of_warp(lost);
  if (List::lane() != 0) return;
  float dropped = lists.dropped[l];
  if (lost != kNoKey) dropped = fminf(dropped, low_of(lost));
  finish(lists, l, size, bounds.k, highest, dropped);
}

template <int kHeld>
__global__ void __launch_bounds__(kThreads)
    merge_sorted_lists(const CandidateLists lists, const Listed listed, const Incoming incoming, const Bounds bounds) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= listed.count) return;
  const std::int64_t l = listed[i];
  if (incoming.counts[l] > 0) merge_sorted<kHeld>(lists, l, incoming, bounds);
}

// ---- longer lists, in no order, each worked on by a block, which has all keys in shared memory if there is room

constexpr int kWarps = kThreads / 32;

// A list and what comes in, as one array.
struct Both {
  const Candidate* list;
  const Candidate* incoming;
  int in_list;
  __device__ Key operator()(int i) const { return make_key(i < in_list ? list[i] : incoming[i - in_list]); }
};

struct MergeState {
  HighestScratch<kWarps> highest;
  int count;
};
constexpr int kSharedKeys = 4096;
static_assert(kSharedKeys * sizeof(Key) + sizeof(MergeState) <= 48 << 10);

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

// kShared: there is room for the keys of both in `shared`.
template <bool kShared>
__device__ void merge_one(const CandidateLists& lists, std::int64_t l, const Incoming& incoming, const Bounds& bounds,
                          MergeState& state, Key* shared) {
  using Threads = Group<kWarps>;
  const int arriving = min(incoming.counts[l], incoming.capacity), before = lists.counts[l], all = before + arriving;
  Candidate* const list = lists.entries + l * lists.capacity;
  const Candidate* const more = incoming.entries + l * incoming.capacity;
  const Both both{list, more, before};
  const int size = min(all, lists.capacity);
  // The C + 1st is the smallest that goes.
  const auto find_end = [&](auto key) {
    return all > lists.capacity ? kth_smallest<kWarps>(key, all, lists.capacity + 1, state.highest.scratch) : kNoKey;
  };
  const auto find_highest = [&](auto key) {
    return size >= bounds.k ? highest_of_nearest<kWarps>(key, size, bounds, l, state.highest) : infinity();
  };
  Key end;
  float highest;
  if constexpr (kShared) {
    for (int i = Threads::thread(); i < all; i += Threads::threads) shared[i] = both(i);
    Threads::sync();
    end = find_end(KeyArray{shared});
    if (end != kNoKey) keep_up_to<kWarps>(shared, all, end - 1, &state.count);
    for (int i = (end == kNoKey ? before : 0) + Threads::thread(); i < size; i += Threads::threads)
      list[i] = candidate(shared[i]);
    highest = find_highest(KeyArray{shared});
  } else {
    end = find_end(both);
    gather_below(end, list, before, more, arriving, &state.count);
    highest = find_highest(CandidateArray{list});
  }
  if (Threads::thread() == 0) {
    const float dropped = end == kNoKey ? lists.dropped[l] : fminf(lists.dropped[l], low_of(end));
    finish(lists, l, size, bounds.k, highest, dropped);
  }
  Threads::sync();
}

template <bool kShared>
__global__ void __launch_bounds__(kThreads)
    merge_long_lists(const CandidateLists lists, const Listed listed, const Incoming incoming, const Bounds bounds) {
  __shared__ MergeState state;
  extern __shared__ Key shared[];
  for (std::int64_t i = blockIdx.x; i < listed.count; i += gridDim.x)
    if (const std::int64_t l = listed[i]; incoming.counts[l] > 0)
      merge_one<kShared>(lists, l, incoming, bounds, state, shared);
}

// dropped and cutoffs of two devices' lists.
__global__ void lower_both(const CandidateLists into, const CandidateLists from, const Listed listed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= listed.count) return;
  const std::int64_t l = listed[i];
  into.dropped[l] = fminf(into.dropped[l], from.dropped[l]);
  into.cutoffs[l] = fminf(into.cutoffs[l], from.cutoffs[l]);
}

void merge(const CandidateLists& lists, const Listed& listed, const Incoming& incoming, const Bounds& bounds,
           cudaStream_t stream) {
  if (listed.count == 0) return;
  const auto blocks = static_cast<unsigned>((listed.count + kWarps - 1) / kWarps);
  const auto sorted = [&]<int kHeld>(std::integral_constant<int, kHeld>) {
    merge_sorted_lists<kHeld><<<blocks, kThreads, 0, stream>>>(lists, listed, incoming, bounds);
  };
  if (lists.capacity <= 32)
    sorted(std::integral_constant<int, 1>());
  else if (lists.capacity <= 64)
    sorted(std::integral_constant<int, 2>());
  else if (lists.capacity <= 128)
    sorted(std::integral_constant<int, 4>());
  else if (lists.capacity <= kLongestSorted)
    sorted(std::integral_constant<int, kLongestSorted / 32>());
  else {
    const auto a_list_each = static_cast<unsigned>(std::min<std::int64_t>(listed.count, 1 << 20));
    const std::int64_t keys = std::int64_t{lists.capacity} + incoming.capacity;
    if (keys <= kSharedKeys)
      merge_long_lists<true><<<a_list_each, kThreads, static_cast<std::size_t>(keys) * sizeof(Key), stream>>>(
          lists, listed, incoming, bounds);
    else
      merge_long_lists<false><<<a_list_each, kThreads, 0, stream>>>(lists, listed, incoming, bounds);
  }
  check_launch();
}

}  // namespace

void merge(const CandidateLists& lists, std::int64_t count, const Incoming& incoming, const Bounds& bounds,
           cudaStream_t stream) {
  merge(lists, {nullptr, count}, incoming, bounds, stream);
}

void merge_lists(const CandidateLists& into, const CandidateLists& from, const std::uint32_t* numbers,
                 std::int64_t count, const Bounds& bounds, cudaStream_t stream) {
  if (count == 0) return;
  const Listed listed{numbers, count};
  lower_both<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(into, from, listed);
  check_launch();
  merge(into, listed, {from.entries, from.counts, from.capacity}, bounds, stream);
}

}  // namespace libknng::cuda
