// What a filter may leave out. A filter multiplies rounded, shifted and scaled rows in fast arithmetic; from that
// product, squared norms and measured rounding residuals follow a lower and an upper bound of every canonical key. The
// derivation, with the meaning of each constant, is docs/internals/error-bound.md. One header for every engine and
// backend.
//
// Notation: u a canonical row, c the centre, x = 2^s (u - c) in real numbers, a the operand (x rounded to the filter's
// type), r >= |x - a|, N- <= |a|^2 <= N+, acc the computed product of two operands.
#pragma once

#include <cstdint>

#include "metric/metric.h"

namespace libknng {

// What is measured of a point when its operand is made.
struct OperandNorms {
  double lower = 0;     // N-
  double upper = 0;     // N+
  double residual = 0;  // r
};

// square_sum: fp64 sum of the squared operand values; residual_sum: of the squared differences between 2^s (u - c) in
// fp64 and the operand; row_sum: of the squared 2^s (u - c).
OperandNorms operand_norms(double square_sum, double residual_sum, double row_sum, std::int64_t dim) noexcept;

// The arithmetic of a unit that sums d products: |acc - a.b| <= gamma |a| |b| + eta. LowBound needs no more than gamma
// (|a|^2 + |b|^2) / 2 + eta, which follows.
struct ProductUnit {
  double gamma;
  double eta;
};
// IEEE single precision, round to nearest, with or without fused multiply-add. dim <= kLargestFilterDim.
inline constexpr std::int64_t kLargestFilterDim = 1 << 20;  // gamma stays below 1 / 15
ProductUnit fp32_unit(std::int64_t dim) noexcept;
// bfloat16 operands summed in single precision that flushes denormals: pair by pair (vdpbf16ps), or 32 coordinates at a
// time (tdpbf16ps). Operands must have no denormals.
ProductUnit bf16_vector_unit(std::int64_t dim) noexcept;
ProductUnit bf16_tile_unit(std::int64_t dim) noexcept;

class KeyBound {
 public:
  // `exponent` is s. For metrics of the terms squared_difference and product.
  KeyBound(const Metric& metric, std::int64_t dim, int exponent, const ProductUnit& unit) noexcept;

  // The largest norm and residual among the points on the other side of a test.
  struct Others {
    double upper = 0;
    double residual = 0;
  };

  // A pair (i, j) of which the key may be at most `cutoff` has fl32(acc - half(j)) >= threshold(i, cutoff, others), for
  // every j among the others. -inf for an infinite cut-off.
  float half(const OperandNorms& j) const noexcept;
  float threshold(const OperandNorms& i, double cutoff, const Others& others) const noexcept;

  // Whether the key lies within the bounds that follow from acc; false means that a constant is wrong.
  bool holds(const OperandNorms& i, const OperandNorms& j, float acc, double key) const noexcept;

 private:
  bool product_;
  double scale_;  // Metric::scale
  double unit_gamma_, unit_eta_;
  double key_error_;  // relative error of a canonical sum
  double key_floor_;  // its absolute error, from underflow
  int exponent_;
  double power_;  // 2^s, if it is normal
  bool normal_;

  double times_power(double x) const noexcept;
  double distance(double key, double sign) const noexcept;
  double product_floor() const noexcept;
};

// Errors of a canonical sum: relative, and absolute from underflow.
double key_error(std::int64_t dim) noexcept;
double key_floor() noexcept;

// The largest float that is not above x; -inf, which claims nothing, if x is NaN.
float round_down(double x) noexcept;
// The smallest float that is not below x; +inf, which claims nothing, if x is NaN.
inline float round_up(double x) noexcept { return -round_down(-x); }

}  // namespace libknng
