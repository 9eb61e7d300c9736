// Canonical keys of short rows, all sums in registers, and a proved lower bound of the keys between two boxes: the same
// arithmetic on the gaps between them (docs/internals/low-dimensions.md). Knows nothing of where rows lie.
#pragma once

#include "backend/cuda/tree/growing_term.h"
#include "core/host_device.h"
#include "metric/terms.h"

namespace libknng::cuda {

// Below the 32 lanes of the canonical sum, so that every lane has one coordinate at most.
static_assert(kShortDim < 32);

// Folds by halves as canonical-key.md has it. Sums of lanes without a coordinate are +0 and change nothing: no sum of
// these terms is -0.
template <class T, int kHalf, int kDim>
KNNG_HD inline void fold_short(double (&s)[kDim]) {
  if constexpr (kHalf > 0) {
    constexpr int kPairs = kDim <= kHalf ? 0 : kDim - kHalf < kHalf ? kDim - kHalf : kHalf;
    for (int l = 0; l < kPairs; ++l) s[l] = T::template join<ScalarOps>(s[l], s[l + kHalf]);
    fold_short<T, kHalf / 2>(s);
  }
}

// The key of rows of kDim coordinates, zeros behind their last.
template <class T, int kDim>
KNNG_HD inline double short_key(const double* u, const double* v, double scale) {
  static_assert(T::kSums == 1 && kDim <= kShortDim);
  double s[kDim];
  for (int t = 0; t < kDim; ++t) {
    s[t] = 0;
    T::template accumulate<ScalarOps>(&s[t], u[t], v[t], 0.0);
  }
  fold_short<T, kShortDim / 2>(s);
  return T::template finish<ScalarOps>(s, scale);
}

// No larger than |u - v|, rounded as keys round it, for any u in [low, high] and v in [other_low, other_high].
KNNG_HD inline double gap(double low, double high, double other_low, double other_high) {
  if (low > other_high) return ScalarOps::sub(low, other_high);
  if (other_low > high) return ScalarOps::sub(other_low, high);
  return 0;
}

// The key of the gaps: rounding is monotone and so is every operation of these terms in |u - v|, so no pair's key is
// smaller.
template <class T, int kDim>
KNNG_HD inline double gap_key(const double (&gaps)[kDim], double scale) {
  constexpr double kZeros[kDim] = {};
  return short_key<T, kDim>(gaps, kZeros, scale);
}

// Terms of which that is proved: grows_with_gaps().
template <class F>
inline void visit_growing_term(Term term, F&& f) {
  switch (term) {
    case Term::squared_difference: return f(SquaredDifference());
    case Term::absolute_difference: return f(AbsoluteDifference());
    case Term::largest_difference: return f(LargestDifference());
    default: return;
  }
}

}  // namespace libknng::cuda
