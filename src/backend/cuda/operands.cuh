// Points as the product units multiply them: canonical rows minus a centre, scaled by a power of two, rounded to fp16
// in one or two pieces or to fp32, with what the bound needs to know of each (refine/low_bound.h). Knows nothing of
// tiles.
#pragma once

#include <cstdint>

#include "backend/cuda/memory.cuh"
#include "backend/cuda/points.cuh"
#include "metric/metric.h"
#include "refine/low_bound.h"

namespace libknng::cuda {

// In the order of the ladder; the numbers are the seam's rungs.
enum class Precision { fp16 = KNNG_RUNG_FILTER, two_piece = KNNG_RUNG_TWO_PIECE, fp32 = KNNG_RUNG_FP32 };

// What both sides have in common. Any centre is right; one amid the points makes small operands.
class Frame {
 public:
  // The median of some columns (0 for inner products, which do not survive a shift), and the scale at which the largest
  // difference from it, on either side, just fits fp16.
  Frame(const Metric& metric, const Points& columns, const Points& rows, Home& home);

  const double* centre() const noexcept { return centre_.data(); }
  int exponent() const noexcept { return exponent_; }

 private:
  DeviceArray<double> centre_;
  int exponent_ = 0;
};

class Operands {
 public:
  Operands(const Points& points, const Frame& frame, Precision precision, Home& home);
  static std::int64_t bytes(std::int64_t count, std::int64_t dim);  // with any precision, while it is made

  // Largest rounding, relative to its point, of those that rounding explains.
  double residual_ratio() const noexcept { return residual_ratio_; }
  // Terms and bounds, once the ratios of both sides are known.
  void settle(const Points& points, const LowBound& bound, Home& home);

  // count x pitch() values, zeros behind dim; piece 1: two_piece only.
  const void* piece(int i) const noexcept { return pieces_[i].data(); }
  std::int64_t pitch() const noexcept { return pitch_; }
  const float* terms() const noexcept { return terms_.data(); }  // +inf: without direction
  const float* bounds() const noexcept { return bounds_.data(); }

 private:
  std::int64_t pitch_;
  double residual_ratio_ = 0;
  DeviceArray<std::byte> pieces_[2];
  DeviceArray<OperandSums> sums_;
  DeviceArray<float> terms_, bounds_;
};

}  // namespace libknng::cuda
