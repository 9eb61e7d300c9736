// What the candidates of a list prove of its k-th smallest key. Knows nothing of how lists grow.
#pragma once

#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/select/kth_smallest.cuh"
#include "backend/cuda/select/merge.cuh"

namespace libknng::cuda {

// What the key of candidate c of list l is at most, or, as Bounds::widths says, is taken to be at most. Of a pair of
// which nothing is known, a low of -inf and a bound of +inf, the sum is NaN, and says as much: no maximum may pass over
// it.
__device__ inline float upper_bound(const Bounds& bounds, std::int64_t l, Candidate c) {
  if (bounds.of_id) {
    const float up =
        __fadd_ru(c.low, __fmul_ru(bounds.widths, __fadd_ru(bounds.of_list[l], __ldg(bounds.of_id + c.id))));
    return isnan(up) ? infinity() : up;
  }
  return bounds.sums ? bounds.sums->up(c.low) : next_up(c.low);
}

struct CandidateArray {
  const Candidate* candidates;
  __device__ Key operator()(int i) const { return make_key(candidates[i]); }
};

// Shared memory of a group.
template <int kWarps>
struct HighestScratch {
  KthScratch<kWarps> scratch;
  unsigned highest;  // ordered()
};

// An upper bound of the list's k-th smallest key, or a guess, as above: k different candidates have keys up to the
// largest `up` of the k of smallest low. (The k-th smallest `up` may be smaller, but needs b of every candidate, each a
// read from anywhere.) key(i), i < size: as for kth_smallest().
template <int kWarps, class KeyOf>
__device__ float highest_of_nearest(KeyOf key, int size, const Bounds& bounds, std::int64_t l,
                                    HighestScratch<kWarps>& state) {
  using Threads = Group<kWarps>;
  const Key last = kth_smallest<kWarps>(key, size, bounds.k, state.scratch);
  if (Threads::thread() == 0) state.highest = 0;
  Threads::sync();
  unsigned highest = 0;
  for (int i = Threads::thread(); i < size; i += Threads::threads) {
    const Key nearest = key(i);
    if (nearest <= last) highest = max(highest, ordered(upper_bound(bounds, l, candidate(nearest))));
  }
  highest = warp_max(highest);  // first: an atomic operation a warp, not one a key
  if (Threads::lane() == 0) atomicMax(&state.highest, highest);
  Threads::sync();
  return from_ordered(state.highest);
}

}  // namespace libknng::cuda
