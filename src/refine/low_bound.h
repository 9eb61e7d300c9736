// One number for each pair: `low`, a proved lower bound of its canonical key, for engines that select on numbers rather
// than compare with cut-offs (KeyBound, bound.h, is the form for those). low_ij = t_i + t_j - 2 acc in fp32, or in
// integers, with a term t of each point; low + 2 (b_i + b_j) is an upper bound. Both in units of the key x scale().
// Derivation: docs/internals/error-bound.md, "A number for each pair". For the CPU and for device code.
#pragma once

#include <cstdint>
#include <limits>

#include "core/host_device.h"
#include "metric/metric.h"
#include "metric/ops.h"
#include "refine/bound.h"

namespace libknng {

// What is measured of a point when its operand is made: fp64 sums over its dim coordinates, x = factor (u - c) in fp64.
struct OperandSums {
  double square = 0;    // of x^2
  double residual = 0;  // of (x - a)^2, a the operand, all its pieces together
  double piece = 0;     // of the squared second piece; 0 if there is one piece
};

class LowBound {
 public:
  // How operands lie about their points: r = |x - a| beside the length l = |x| + r / 2.
  struct Rounding {
    double ratio;  // r / l of most points, at least kSmallestRatio. Any is right; theirs makes the bound tight
    double longest = std::numeric_limits<double>::infinity();  // no l is above it
  };
  static constexpr double kSmallestRatio = 0x1p-24;
  static constexpr int kLargestExponent = 500;  // of a factor for fp16; one for bytes lies up to 7 beside it

  // `factor` is that of x, between 2^-510 and 2^510; it has no more than 26 bits, so that its square is exact. `unit`
  // is that of the product of whole operands: of two pieces, of three times dim terms. For metrics of the terms
  // squared_difference and product, dim <= kLargestFilterDim.
  LowBound(const Metric& metric, std::int64_t dim, double factor, const ProductUnit& unit,
           const Rounding& rounding) noexcept;

  // Key x scale, in fp64, is in the units of low.
  double scale() const noexcept { return scale_; }

  // l of a point, not below it.
  static KNNG_HD double length(const OperandSums& p, std::int64_t dim) {
    const double x = ScalarOps::sqrt(p.square * above(dim));
    return (x + lost(p, x, dim) / 2) * kUp;
  }
  // b of a point, to be rounded up to fp32.
  KNNG_HD double bound(const OperandSums& p) const {
    const double x = ScalarOps::sqrt(p.square * above(dim_)), r = lost(p, x, dim_);
    const double l = x + r / 2, piece = p.piece * above(dim_), whole = x + r + 2 * ScalarOps::sqrt(piece);
    const double operands = ratio_ * (l * l) + most_of_products(r) + piece;
    return ((operands + of_lengths_ * (whole * whole)) * kUp + floor_) * kOfBound;
  }
  // t of a point, to be rounded down to fp32; `bound` as it was rounded.
  KNNG_HD double term(const OperandSums& p, double bound) const {
    return product_ ? -bound : p.square * (1 - sum_error(dim_)) * kDown - bound * kUp;
  }

 private:
  static constexpr double kUp = 1 + 0x1p-48, kDown = 1 - 0x1p-48;  // room for sixteen roundings of fp64
  static constexpr double kOfBound = 1 + 0x1p-20;                  // what fp32 does to low, relative to b
  static constexpr double kRoundingOfX = 0x1.8p-52;                // of the difference and of the product

  // How far a computed sum is from the real one.
  static KNNG_HD double sum_error(std::int64_t dim) { return static_cast<double>(dim + 8) * 0x1p-52; }
  static KNNG_HD double above(std::int64_t dim) { return 1 + sum_error(dim); }
  static KNNG_HD double lost(const OperandSums& p, double x, std::int64_t dim) {
    return ScalarOps::sqrt(p.residual * above(dim)) + kRoundingOfX * x;
  }
  // The most of 2 l r - ratio l^2, l up to the longest.
  KNNG_HD double most_of_products(double r) const {
    return r <= ratio_ * longest_ ? r * r * inverse_ratio_ : longest_ * (2 * r - ratio_ * longest_);
  }

  bool product_;
  std::int64_t dim_;
  double scale_;
  double ratio_, inverse_ratio_, longest_;
  double of_lengths_;  // of squared lengths of operands
  double floor_;       // underflow
};

}  // namespace libknng
