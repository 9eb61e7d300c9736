// The terms of metrics without product form in single precision: what a filter adds up for each coordinate before
// canonical keys decide. sum_bound.h says how far the sums are from the keys. For device code, and for the tests that
// attack the bound.
//
// A term has kSums sums s[], all starting from 0; `p` is the exponent of minkowski. `Units` has what processors only
// approximate, within the errors that sum_bound.h allows: reciprocal, log2, exp2. A coordinate in which both values are
// 0 adds nothing, so that rows may be padded. Nothing is contracted (ops.h says how that is arranged).
#pragma once

#include <cmath>

#include "core/host_device.h"
#include "metric/metric.h"

namespace libknng {

struct SumOfDifferences {  // manhattan
  static constexpr int kSums = 1;
  template <class Units>
  KNNG_HD static inline void add(float* s, float x, float y, float) {
    s[0] += fabsf(x - y);
  }
  KNNG_HD static inline float finish(const float* s) { return s[0]; }
};

struct LargestOfDifferences {  // chebyshev
  static constexpr int kSums = 1;
  template <class Units>
  KNNG_HD static inline void add(float* s, float x, float y, float) {
    s[0] = fmaxf(s[0], fabsf(x - y));
  }
  KNNG_HD static inline float finish(const float* s) { return s[0]; }
};

struct SumOfPowers {  // minkowski; 0 has the logarithm -inf, and the power 0 again
  static constexpr int kSums = 1;
  template <class Units>
  KNNG_HD static inline void add(float* s, float x, float y, float p) {
    s[0] += Units::exp2(p * Units::log2(fabsf(x - y)));
  }
  KNNG_HD static inline float finish(const float* s) { return s[0]; }
};

struct SumOfRatios {  // canberra; 0/0 becomes 0 times a large number
  static constexpr int kSums = 1;
  template <class Units>
  KNNG_HD static inline void add(float* s, float x, float y, float) {
    const float below = fmaxf(fabsf(x) + fabsf(y), 0x1p-126F);
    s[0] = fmaf(fabsf(x - y), Units::reciprocal(below), s[0]);
  }
  KNNG_HD static inline float finish(const float* s) { return s[0]; }
};

struct RatioOfSums {  // braycurtis
  static constexpr int kSums = 2;
  template <class Units>
  KNNG_HD static inline void add(float* s, float x, float y, float) {
    s[0] += fabsf(x - y);
    s[1] += fabsf(x + y);
  }
  KNNG_HD static inline float finish(const float* s) { return s[1] == 0 ? 0.0F : s[0] / s[1]; }
};

// Whether a metric of this term has one: of those without product form jensenshannon has none.
constexpr bool has_sum_term(Term term) noexcept {
  return term == Term::absolute_difference || term == Term::largest_difference || term == Term::power_difference ||
         term == Term::canberra || term == Term::bray_curtis;
}

// Calls f with the term in single precision, if there is one.
template <class F>
inline void visit_sum_term(Term term, F&& f) {
  switch (term) {
    case Term::absolute_difference: return f(SumOfDifferences());
    case Term::largest_difference: return f(LargestOfDifferences());
    case Term::power_difference: return f(SumOfPowers());
    case Term::canberra: return f(SumOfRatios());
    case Term::bray_curtis: return f(RatioOfSums());
    default: return;
  }
}

}  // namespace libknng
