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

// Of candidates with lows up to that of `last` the one with the largest `up` is nearly always the last, as bounds are
// small beside the distance from one low to the next. Others may be it only if the largest bound of all would lift them
// so high: of few of them b is read, which may be anywhere.
class HighestUp {
 public:
  __device__ HighestUp(const Bounds& bounds, std::int64_t l, Candidate last)
      : bounds_(bounds),
        list_(l),
        of_last_(upper_bound(bounds, l, last)),
        highest_(of_last_),
        most_above_(most_above(bounds, l)) {}

  // A sum that is NaN is not left out.
  __device__ void take(Candidate c) {
    if (!(__fadd_ru(c.low, most_above_) <= of_last_)) highest_ = fmaxf(highest_, upper_bound(bounds_, list_, c));
  }
  __device__ unsigned highest_of_warp() const { return warp_max(ordered(highest_)); }

 private:
  // How far an `up` may be above its low.
  static __device__ float most_above(const Bounds& bounds, std::int64_t l) {
    if (!bounds.largest_of_id) return infinity();
    return __fmul_ru(bounds.widths, __fadd_ru(bounds.of_list[l], __ldg(bounds.largest_of_id)));
  }

  const Bounds& bounds_;
  const std::int64_t list_;
  const float of_last_;
  float highest_;
  const float most_above_;
};

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
  HighestUp highest(bounds, l, candidate(last));
  for (int i = Threads::thread(); i < size; i += Threads::threads) {
    const Key nearest = key(i);
    if (nearest < last) highest.take(candidate(nearest));
  }
  const unsigned of_warp = highest.highest_of_warp();  // first: an atomic operation a warp, not one a key
  if (Threads::lane() == 0) atomicMax(&state.highest, of_warp);
  Threads::sync();
  return from_ordered(state.highest);
}

}  // namespace libknng::cuda
