// The k-th smallest of many keys, by a group of threads: quick select by votes (komarov-2014), with two pivots taken
// from a sample on either side of where the wanted key should be. What lies between them is moved together, what lies
// outside is only counted, so that a round leaves about a fifth of the keys. Few keys, or those that are left, are held
// in registers (held_keys.cuh).
#pragma once

#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/select/group.cuh"
#include "backend/cuda/select/held_keys.cuh"
#include "backend/cuda/select/key.cuh"

namespace libknng::cuda {

// Shared memory of a group.
template <int kWarps>
struct KthScratch {
  static constexpr int samples = kWarps == 1 ? 32 : 64;
  static constexpr int room = kWarps == 1 ? 64 : 512;
  Key between[room];
  Key sample[samples];
  Key pivot[2];
  HeldScratch<kWarps> held;
  int below_count;
  int between_count;
};

struct KeyArray {
  const Key* keys;
  __device__ Key operator()(int i) const { return keys[i]; }
};

// How far a search is: the wanted key is the rank-th of the `active` keys in [first, last].
struct KthSearch {
  Key first, last;
  int active, rank;
  const Key* known;  // active keys to draw a sample from; null: key()
  int known_size;    // 0: none
};

struct Pivots {
  Key low, high;
};

// Puts known keys into the scratch's sample, evenly from end to end: there are more of them.
template <int kWarps, class KeyOf>
__device__ __forceinline__ void draw_sample(KeyOf key, const KthSearch& search, KthScratch<kWarps>& scratch) {
  constexpr int kSamples = KthScratch<kWarps>::samples;
  const int thread = Group<kWarps>::thread();
  if (thread < kSamples) {
    const auto i =
        static_cast<int>(static_cast<unsigned long long>(thread) * static_cast<unsigned>(search.known_size) / kSamples);
    scratch.sample[thread] = search.known ? search.known[i] : key(i);
  }
  Group<kWarps>::sync();
}

// Pivots on either side of where the wanted key should be, as the sample tells; where it does not reach so far, what
// they are stays.
template <int kWarps>
__device__ __forceinline__ void find_pivots(const KthSearch& search, KthScratch<kWarps>& scratch, Pivots& pivots) {
  using Threads = Group<kWarps>;
  constexpr int kSamples = KthScratch<kWarps>::samples;
  // Two to three standard deviations of the rank that the wanted key would have in the sample.
  // (Rough arithmetic will do: it decides how many rounds there are, nothing else.)
  const float share = __fdividef(static_cast<float>(search.rank), static_cast<float>(search.active));
  const float centre = share * kSamples;
  const float variance = fmaxf(centre * (1.0F - share), 1e-6F);
  const float spread = 1.0F + 2.0F * variance * rsqrtf(variance);
  const int low_rank = static_cast<int>(floorf(centre - spread)) - 1;
  const int high_rank = static_cast<int>(ceilf(centre + spread));
  // Each of the sample is compared with all others, by as many neighbouring lanes as there are.
  constexpr int lanes = Threads::threads / kSamples;
  const int at = Threads::thread() / lanes, part = Threads::thread() % lanes;
  const Key mine = scratch.sample[at];
  int smaller = 0;
  for (int j = part; j < kSamples; j += lanes) smaller += scratch.sample[j] < mine ? 1 : 0;
  smaller = sum_of_lanes<lanes>(smaller);
  if (part == 0) {
    if (smaller == low_rank) scratch.pivot[0] = mine;
    if (smaller == high_rank) scratch.pivot[1] = mine;
  }
  Threads::sync();
  if (low_rank >= 0) pivots.low = scratch.pivot[0];
  if (high_rank < kSamples) pivots.high = scratch.pivot[1];
}

struct KthCounts {
  int below, between;
};

// Counts the active keys below the pivots and between them, and moves these together, as far as there is room.
template <int kWarps, class KeyOf>
__device__ __forceinline__ KthCounts move_between(KeyOf key, int size, const KthSearch& search, const Pivots& pivots,
                                                  KthScratch<kWarps>& scratch) {
  using Threads = Group<kWarps>;
  const int thread = Threads::thread();
  if (thread == 0) scratch.below_count = scratch.between_count = 0;
  Threads::sync();
  int below = 0;            // of the warp
  constexpr int reads = 4;  // in flight
  for (int start = 0; start < size; start += reads * Threads::threads) {
    Key mine[reads];
    bool between[reads];
    int place[reads];
#pragma unroll
    for (int u = 0; u < reads; ++u) {
      const int i = start + u * Threads::threads + thread;
      mine[u] = i < size ? key(i) : ~Key{0};
    }
#pragma unroll
    for (int u = 0; u < reads; ++u) {
      below += __popc(__ballot_sync(0xffffffffU, mine[u] >= search.first && mine[u] < pivots.low));
      between[u] = mine[u] >= pivots.low && mine[u] <= pivots.high && mine[u] != ~Key{0};
    }
    append_places(&scratch.between_count, between, place);
#pragma unroll
    for (int u = 0; u < reads; ++u)
      if (between[u] && place[u] < KthScratch<kWarps>::room) scratch.between[place[u]] = mine[u];
  }
  if (Threads::lane() == 0 && below != 0) atomicAdd(&scratch.below_count, below);
  Threads::sync();
  const KthCounts counts{scratch.below_count, scratch.between_count};
  Threads::sync();
  return counts;
}

// Goes on with the part that has the wanted key. True: that is search.first.
template <int kWarps>
__device__ __forceinline__ bool narrow(KthSearch& search, const Pivots& pivots, const KthCounts& counts,
                                       KthScratch<kWarps>& scratch) {
  if (search.rank <= counts.below) {  // the sample misled: next round the keys below are moved, whatever they are
    search.last = pivots.low - 1;
    search.active = counts.below;
    search.known_size = 0;
    return false;
  }
  if (search.rank > counts.below + counts.between) {
    search.first = pivots.high + 1;
    search.rank -= counts.below + counts.between;
    search.active -= counts.below + counts.between;
    search.known_size = 0;
    return false;
  }
  search.first = pivots.low;
  search.last = pivots.high;
  search.rank -= counts.below;
  search.active = counts.between;
  if (search.first == search.last) return true;
  search.known = scratch.between;
  search.known_size = min(counts.between, KthScratch<kWarps>::room);
  return false;
}

// Of keys that the group's registers hold.
template <int kWarps, int kHeld, class KeyOf>
__device__ __forceinline__ Key kth_in_registers(KeyOf key, int size, int k, KthScratch<kWarps>& scratch) {
  using Threads = Group<kWarps>;
  Key keys[kHeld];
#pragma unroll
  for (int h = 0; h < kHeld; ++h) {
    const int i = h * Threads::threads + Threads::thread();
    keys[h] = i < size ? key(i) : kNoKey;
  }
  return kth_of_held<kWarps>(keys, kHeld, size, k, scratch.held);
}

// key(i), 0 <= i < size, is read several times, all different, none of a NaN; 1 <= k <= size. All threads of the group
// call it, and get the same. Shared memory that key() reads must have been written before a sync().
template <int kWarps, class KeyOf>
__device__ Key kth_smallest(KeyOf key, int size, int k, KthScratch<kWarps>& scratch) {
  constexpr int kFew = 2 * Group<kWarps>::threads, kMany = 8 * Group<kWarps>::threads, kRoom = KthScratch<kWarps>::room;
  constexpr int kHeld = kRoom <= kFew ? 2 : 8;  // of what is left
  static_assert(KthScratch<kWarps>::samples <= kRoom && kRoom <= kMany);
  if (size <= kFew) return kth_in_registers<kWarps, 2>(key, size, k, scratch);
  if (size <= kMany) return kth_in_registers<kWarps, 8>(key, size, k, scratch);
  KthSearch search{0, ~Key{0}, size, k, nullptr, size};
  for (;;) {
    Pivots pivots{search.first, search.last};
    if (search.known_size > 0) {
      draw_sample(key, search, scratch);
      find_pivots(search, scratch, pivots);
    }
    const KthCounts counts = move_between(key, size, search, pivots, scratch);
    if (narrow(search, pivots, counts, scratch)) return search.first;
    if (search.known_size == search.active)  // all of them are there
      return kth_in_registers<kWarps, kHeld>(KeyArray{scratch.between}, search.active, search.rank, scratch);
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
