// The k-th smallest of the keys that a group of threads holds in its registers. An interval around it becomes smaller:
// the keys up to a pivot are counted, which takes one comparison a key and moves none, until so few are left that a
// warp sorts them. Where keys lie evenly a pivot is nearly where it should be, so that 4 to 6 of them do.
#pragma once

#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/select/group.cuh"
#include "backend/cuda/select/sorted_list.cuh"

namespace libknng::cuda {

// Shared memory of a group.
template <int kWarps>
struct HeldScratch {
  Key near[32];
  int found;
  int counts[2][kWarps];  // in turns
  unsigned lowest[kWarps], highest[kWarps];
};

// f(h) for the first `held` registers, or some more: whole chunks, so that registers are known when it is compiled.
template <int kHeld, class F>
__device__ __forceinline__ void each_held(int held, F&& f) {
  constexpr int kChunk = 8;
#pragma unroll
  for (int chunk = 0; chunk < kHeld; chunk += kChunk) {
    if (chunk >= held) break;
#pragma unroll
    for (int h = chunk; h < (chunk + kChunk < kHeld ? chunk + kChunk : kHeld); ++h) f(h);
  }
}

// Where the wanted key is: the rank-th of all, counted from 1, one of the `upto` - `below` in [first, last].
struct HeldSearch {
  Key first, last;
  int below, upto, rank;

  // A key of the interval, before its last. In the first turns a little beyond where the wanted key should be, then a
  // little before it, so that both ends come near; in others the middle, which ends with any data.
  __device__ Key pivot(int turn) const {
    constexpr int kMargin = 12, kTrusting = 6;
    if (!lows_differ()) return first + (last - first) / 2;
    const auto from = static_cast<unsigned>(first >> 32), span = static_cast<unsigned>(last >> 32) - from;
    const int active = upto - below, aim = rank - below + (turn % 2 == 0 ? kMargin : -kMargin);
    const bool trusts = turn < kTrusting ? turn % 4 != 3 : turn % 2 == 0;
    const float share =
        trusts ? __fdividef(static_cast<float>(min(max(aim, 1), active - 1)), static_cast<float>(active)) : 0.5F;
    const unsigned offset = min(static_cast<unsigned>(share * static_cast<float>(span)), span - 1);
    return Key{from + offset} << 32 | 0xffffffffU;
  }
  // Whether the upper halves of keys, which are their lows, tell which are up to a pivot.
  __device__ bool lows_differ() const { return first >> 32 != last >> 32; }
  __device__ void narrow(Key pivot, int count) {
    if (count >= rank) {
      last = pivot;
      upto = count;
    } else {
      first = pivot + 1;
      below = count;
    }
  }
};

template <int kWarps>
__device__ __forceinline__ int group_sum(int mine, int turn, HeldScratch<kWarps>& scratch) {
  auto sum = warp_sum(static_cast<unsigned>(mine));
  if constexpr (kWarps > 1) {
    int* const counts = scratch.counts[turn % 2];
    if (Group<kWarps>::lane() == 0) counts[threadIdx.x / 32] = static_cast<int>(sum);
    __syncthreads();
    const int lane = Group<kWarps>::lane();
    sum = warp_sum(lane < kWarps ? static_cast<unsigned>(counts[lane]) : 0U);
  }
  return static_cast<int>(sum);
}

// The interval of all keys.
template <int kWarps, int kHeld>
__device__ __forceinline__ HeldSearch begin_search(const Key (&keys)[kHeld], int held, int size, int rank,
                                                   HeldScratch<kWarps>& scratch) {
  unsigned lowest = 0xffffffffU, highest = 0;
  each_held<kHeld>(held, [&](int h) {
    const auto upper = static_cast<unsigned>(keys[h] >> 32);
    lowest = min(lowest, upper);
    if (keys[h] != kNoKey) highest = max(highest, upper);
  });
  lowest = warp_min(lowest);
  highest = warp_max(highest);
  if (Group<kWarps>::thread() == 0) scratch.found = 0;
  if constexpr (kWarps > 1) {
    const int lane = Group<kWarps>::lane(), warp = static_cast<int>(threadIdx.x / 32);
    if (lane == 0) {
      scratch.lowest[warp] = lowest;
      scratch.highest[warp] = highest;
    }
    __syncthreads();
    lowest = warp_min(lane < kWarps ? scratch.lowest[lane] : 0xffffffffU);
    highest = warp_max(lane < kWarps ? scratch.highest[lane] : 0U);
  }
  return {Key{lowest} << 32, Key{highest} << 32 | 0xffffffffU, 0, size, rank};
}

// keys: those of a thread in its first `held` registers, all different and of no NaN, kNoKey where there is none,
// `size` in all; 1 <= rank <= size. All threads of the group call it, and get the same.
template <int kWarps, int kHeld>
__device__ Key kth_of_held(const Key (&keys)[kHeld], int held, int size, int rank, HeldScratch<kWarps>& scratch) {
  using Threads = Group<kWarps>;
  HeldSearch search = begin_search<kWarps>(keys, held, size, rank, scratch);
  for (int turn = 0; search.upto - search.below > 32; ++turn) {
    const Key pivot = search.pivot(turn);
    int counts[4] = {};  // so that additions need not wait for each other
    if (search.lows_differ()) {
      const auto low = static_cast<unsigned>(pivot >> 32);
      each_held<kHeld>(held, [&](int h) { counts[h % 4] += static_cast<unsigned>(keys[h] >> 32) <= low ? 1 : 0; });
    } else {
      each_held<kHeld>(held, [&](int h) { counts[h % 4] += keys[h] <= pivot ? 1 : 0; });
    }
    const int count = (counts[0] + counts[1]) + (counts[2] + counts[3]);
    search.narrow(pivot, group_sum<kWarps>(count, turn, scratch));
  }
  Threads::sync();
  each_held<kHeld>(held, [&](int h) {
    const bool near = keys[h] >= search.first && keys[h] <= search.last;
    const int place = append_place(&scratch.found, near);
    if (near && place < 32) scratch.near[place] = keys[h];
  });
  Threads::sync();
  const Key mine = Threads::lane() < search.upto - search.below ? scratch.near[Threads::lane()] : kNoKey;
  const Key wanted = __shfl_sync(0xffffffffU, sort_warp(mine), rank - search.below - 1);
  Threads::sync();
  return wanted;
}

}  // namespace libknng::cuda
