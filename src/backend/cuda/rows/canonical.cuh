// The canonical sum in one warp: coordinate t belongs to lane t mod 32, and the lanes fold by halves (docs/internals/
// canonical-key.md). Terms are metric/terms-inl.h under ScalarOps, so that a key has the CPU's bits. Knows nothing of
// where rows lie.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/base/warp.cuh"
#include "metric/canonical.h"
#include "metric/terms.h"

namespace libknng::cuda {

inline constexpr unsigned kAllLanes = 0xffffffff;
static_assert(kCanonicalLanes == 32, "a warp holds the canonical sum");

// s[l] = s[l] + s[l + h] for h = 16, 8, 4, 2, 1: every lane ends with s[0].
__device__ inline double fold_warp(double s) { return fold_lanes(s, ScalarOps::add); }

// The warp's sum over t < dim of values that f gives; every lane gets it.
template <class F>
__device__ inline double canonical_sum(std::int64_t dim, F f) {
  double s = 0;
  for (std::int64_t t = threadIdx.x % kCanonicalLanes; t < dim; t += kCanonicalLanes) s = ScalarOps::add(s, f(t));
  return fold_warp(s);
}

// Folds the sums of kPairs pairs at once, s[pair] in every lane: the first steps fold two pairs in the two halves of
// the lanes, so that kPairs = 4 takes 6 exchanges instead of 20. Lane l ends with the sum of pair l / (32 / kPairs).
// A template calls the next for each step, as what the compiler does not unroll it keeps in local memory.
template <class T, int kPairs, int kApart = kCanonicalLanes / 2>
__device__ __forceinline__ double fold_pairs(const double (&s)[kPairs]) {
  static_assert(kPairs > 0 && (kPairs & (kPairs - 1)) == 0 && (kPairs == 1 || kPairs <= 2 * kApart));
  if constexpr (kPairs == 1) {
    return fold_lanes<2 * kApart>(s[0], T::template join<ScalarOps>);
  } else {
    constexpr int kKept = kPairs / 2;
    const bool upper = (threadIdx.x & kApart) != 0;
    double kept[kKept];
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const double mine = upper ? s[i + kKept] : s[i];
      const double other = __shfl_xor_sync(kAllLanes, upper ? s[i] : s[i + kKept], kApart);
      kept[i] = T::template join<ScalarOps>(mine, other);
    }
    return fold_pairs<T, kKept, kApart / 2>(kept);
  }
}

// Which lane of fold_pairs() has the sum of a pair.
template <int kPairs>
__device__ inline int lane_of_pair(int pair) {
  return pair * (kCanonicalLanes / kPairs);
}

// Whether some metric evaluates this term on rows of this transform (metric/metric.cpp).
template <class T, Transform kFormula>
inline constexpr bool kOccurs =
    kFormula == Transform::identity
        ? !std::is_same_v<T, JensenShannon>
        : std::is_same_v<T, std::conditional_t<kFormula == Transform::share, JensenShannon, SquaredDifference>>;

}  // namespace libknng::cuda
