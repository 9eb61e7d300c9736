// What a filter without products may leave out: sums of non-negative terms in single precision (sum_terms.h) are wrong
// in proportion to themselves, so that lower and upper bounds of the canonical key follow from the sum alone, whatever
// the points. For rows whose values single precision holds exactly. Derivation: docs/internals/error-bound.md, "Sums
// without products". For the CPU and for device code.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.h"
#include "metric/metric.h"
#include "refine/sum_terms.h"

namespace libknng {

// Of the magnitudes of all values on both sides that are not 0: where sums could overflow nothing is claimed of them.
struct ValueRange {
  float smallest = std::numeric_limits<float>::infinity(), largest = 0;
};

// |sum - key| <= gamma key + eta. gamma = inf: no claim.
struct SumError {
  double gamma, eta;
};
// For metrics whose term has_sum_term(), dim <= kLargestFilterDim (bound.h); coordinates are added one after the other.
SumError sum_error(const Metric& metric, std::int64_t dim, const ValueRange& range) noexcept;

// low <= key <= up(low) in single precision, every operation rounded to nearest.
class SumBound {
 public:
  SumBound() noexcept = default;  // low = 0 and up = inf for every sum
  explicit SumBound(const SumError& error) noexcept;

  KNNG_HD float low(float sum) const { return fminf(sum, FLT_MAX) * down_ - floor_; }
  KNNG_HD float up(float low) const { return low * growth_ + ceiling_; }

 private:
  float down_ = 0, floor_ = 0;
  float growth_ = 1, ceiling_ = std::numeric_limits<float>::infinity();
};

}  // namespace libknng
