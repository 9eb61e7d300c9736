// A list of up to 32 x kHeld keys, ascending, in the registers of a warp, into which 32 keys at a time are merged:
// bitonic networks (Batcher 1968) by exchanges between lanes. A few keys are put in one by one, which takes less. Key i
// is in lane i / kHeld, all ones where there is none.
// Every function must be called by the whole warp.
#pragma once

#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/select/key.cuh"

namespace libknng::cuda {

constexpr Key kNoKey = ~Key{0};  // no float's

__device__ inline Key smaller(Key a, Key b) { return a < b ? a : b; }
__device__ inline Key larger(Key a, Key b) { return a < b ? b : a; }

// One key a lane, sorted by lane.
__device__ inline Key sort_warp(Key key) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int run = 2; run <= 32; run *= 2) {
#pragma unroll
    for (int apart = run / 2; apart > 0; apart /= 2) {
      const Key other = __shfl_xor_sync(0xffffffffU, key, apart);
      const bool ascending = (lane & run) == 0, first = (lane & apart) == 0;
      key = ascending == first ? smaller(key, other) : larger(key, other);
    }
  }
  return key;
}

template <int kHeld>
struct SortedList {
  static constexpr int kRoom = 32 * kHeld;
  Key keys[kHeld];

  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  // Which of the list a lane's key is.
  static __device__ int place(int held) { return lane() * kHeld + held; }

  // Takes in one key, which all lanes have. Returns what has no room any more, to the last lane; others get kNoKey.
  __device__ Key insert(Key key) {
    unsigned smaller_here = 0;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) smaller_here += keys[h] < key ? 1U : 0U;
    const int at =
        static_cast<int>(kHeld == 1 ? __popc(__ballot_sync(0xffffffffU, smaller_here != 0)) : warp_sum(smaller_here));
    const Key last = at == kRoom ? key : keys[kHeld - 1];
    Key before = __shfl_up_sync(0xffffffffU, keys[kHeld - 1], 1);  // of the lane's first, then of the next
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const Key mine = keys[h];
      if (place(h) >= at) keys[h] = place(h) == at ? key : before;
      before = mine;
    }
    return lane() == 31 ? last : kNoKey;
  }

  // Takes in keys that sort_warp() has sorted; returns the lane's smallest of those that have no room any more.
  __device__ Key merge(Key sorted) {
    Key lost = kNoKey;
    // The smallest of them beside the list's last, the next beside the one before: what is smaller of each pair stays,
    // and the list first rises, then falls.
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const int opposite = kRoom - 1 - place(h);
      const Key arriving = __shfl_sync(0xffffffffU, sorted, opposite & 31);
      if (opposite >= 32) continue;
      lost = smaller(lost, larger(keys[h], arriving));
      keys[h] = smaller(keys[h], arriving);
    }
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        const Key other = __shfl_xor_sync(0xffffffffU, keys[h], apart);
        keys[h] = (lane() & apart) == 0 ? smaller(keys[h], other) : larger(keys[h], other);
      }
    }
#pragma unroll
    for (int apart = kHeld / 2; apart > 0; apart /= 2) {
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        if ((h & apart) != 0) continue;
        const Key a = keys[h], b = keys[h + apart];
        keys[h] = smaller(a, b);
        keys[h + apart] = larger(a, b);
      }
    }
    return lost;
  }
};

}  // namespace libknng::cuda
