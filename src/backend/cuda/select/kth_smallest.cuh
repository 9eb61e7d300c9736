// The k-th smallest of many keys, by a group of threads: quick select by votes (komarov-2014), with two pivots taken
// from a sample on either side of where the wanted key should be. What lies between them is moved together, what lies
// outside is only counted, so that a round leaves about a fifth of the keys.
#pragma once

#include "backend/cuda/select/group.cuh"
#include "backend/cuda/select/key.cuh"

namespace libknng::cuda {

// Shared memory of a group.
template <int kWarps>
struct KthScratch {
  static constexpr int samples = kWarps == 1 ? 32 : 64;
  static constexpr int room = kWarps == 1 ? 64 : 512;
  Key between[2][room];
  Key sample[samples];
  Key pivot[2];
  Key answer;
  int below_count;
  int between_count;
};

struct KeyArray {
  const Key* keys;
  __device__ Key operator()(int i) const { return keys[i]; }
};

// key(i), 0 <= i < size, is read several times, all different, none of all ones (no float's); 1 <= k <= size. All
// threads of the group call it, and get the same. Shared memory that key() reads must have been written before a
// sync().
template <int kWarps, class KeyOf>
__device__ Key kth_smallest(KeyOf key, int size, int k, KthScratch<kWarps>& scratch) {
  using Threads = Group<kWarps>;
  using Scratch = KthScratch<kWarps>;
  const int thread = Threads::thread();

  // The wanted key is the rank-th of the `active` keys in [first, last].
  Key first = 0, last = ~Key{0};
  int active = size, rank = k;
  const Key* moved = nullptr;  // these hold all active keys; null: key() does, among others
  int moved_size = size;
  const Key* known = nullptr;  // active keys to draw a sample from; null: key()
  int known_size = size;       // 0: none
  int into = 0;                // where the next ones are moved to

  for (;;) {
    Key low_pivot = first, high_pivot = last;
    if (known_size > 0) {
      const int drawn = min(known_size, Scratch::samples);
      if (thread < drawn) {
        // All of them, or evenly from end to end.
        const int i = drawn < Scratch::samples ? thread
                                               : static_cast<int>(static_cast<unsigned long long>(thread) *
                                                                  static_cast<unsigned>(known_size) / Scratch::samples);
        scratch.sample[thread] = known ? known[i] : key(i);
      }
      Threads::sync();
      // Two to three standard deviations of the rank that the wanted key would have in the sample.
      // (Rough arithmetic will do: it decides how many rounds there are, nothing else.)
      const float share = __fdividef(static_cast<float>(rank), static_cast<float>(active));
      const float centre = share * static_cast<float>(drawn);
      const float variance = fmaxf(centre * (1.0F - share), 1e-6F);
      const float spread = 1.0F + 2.0F * variance * rsqrtf(variance);
      const int low_rank = static_cast<int>(floorf(centre - spread)) - 1;
      const int high_rank = static_cast<int>(ceilf(centre + spread));
      // Each of the sample is compared with all others, by as many neighbouring lanes as there are.
      constexpr int lanes = Threads::threads / Scratch::samples;
      const int at = thread / lanes, part = thread % lanes;
      const Key mine = scratch.sample[min(at, drawn - 1)];
      int smaller = 0;
      for (int j = part; j < drawn; j += lanes) smaller += scratch.sample[j] < mine ? 1 : 0;
#pragma unroll
      for (int apart = lanes / 2; apart > 0; apart /= 2) smaller += __shfl_xor_sync(0xffffffffU, smaller, apart);
      if (part == 0 && at < drawn) {
        if (smaller == rank - 1) scratch.answer = mine;
        if (smaller == low_rank) scratch.pivot[0] = mine;
        if (smaller == high_rank) scratch.pivot[1] = mine;
      }
      Threads::sync();
      if (drawn == active) return scratch.answer;  // the sample was all of them
      if (low_rank >= 0) low_pivot = scratch.pivot[0];
      if (high_rank < drawn) high_pivot = scratch.pivot[1];
    }

    if (thread == 0) scratch.below_count = scratch.between_count = 0;
    Threads::sync();
    int below = 0;            // of the warp
    constexpr int reads = 4;  // in flight
    for (int start = 0; start < moved_size; start += reads * Threads::threads) {
      Key mine[reads];
      bool between[reads];
      int place[reads];
#pragma unroll
      for (int u = 0; u < reads; ++u) {
        const int i = start + u * Threads::threads + thread;
        mine[u] = i >= moved_size ? ~Key{0} : moved ? moved[i] : key(i);
      }
#pragma unroll
      for (int u = 0; u < reads; ++u) {
        below += __popc(__ballot_sync(0xffffffffU, mine[u] >= first && mine[u] < low_pivot));
        between[u] = mine[u] >= low_pivot && mine[u] <= high_pivot && mine[u] != ~Key{0};
      }
      append_places(&scratch.between_count, between, place);
#pragma unroll
      for (int u = 0; u < reads; ++u)
        if (between[u] && place[u] < Scratch::room) scratch.between[into][place[u]] = mine[u];
    }
    if (Threads::lane() == 0 && below != 0) atomicAdd(&scratch.below_count, below);
    Threads::sync();
    const int below_all = scratch.below_count, between_all = scratch.between_count;
    Threads::sync();

    if (rank <= below_all) {  // the sample misled: next round the keys below are moved, whatever they are
      last = low_pivot - 1;
      active = below_all;
      known_size = 0;
    } else if (rank > below_all + between_all) {
      first = high_pivot + 1;
      rank -= below_all + between_all;
      active -= below_all + between_all;
      known_size = 0;
    } else {
      first = low_pivot;
      last = high_pivot;
      rank -= below_all;
      active = between_all;
      if (first == last) return first;
      known = scratch.between[into];
      known_size = min(between_all, Scratch::room);
      if (between_all <= Scratch::room) {
        moved = known;
        moved_size = between_all;
      }
      into ^= 1;
    }
  }
}

// Leaves of keys[0, size) those up to `last`, at the front; *kept is how many, for all to read after it. In place: what
// is written was read before, since places run behind.
template <int kWarps>
__device__ void keep_up_to(Key* keys, int size, Key last, int* kept) {
  using Threads = Group<kWarps>;
  if (Threads::thread() == 0) *kept = 0;
  Threads::sync();
  for (int start = 0; start < size; start += Threads::threads) {
    const int i = start + Threads::thread();
    const Key mine = i < size ? keys[i] : ~Key{0};
    Threads::sync();
    const bool stays = i < size && mine <= last;
    const int place = append_place(kept, stays);
    if (stays) keys[place] = mine;
    Threads::sync();
  }
}

}  // namespace libknng::cuda
