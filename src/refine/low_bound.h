// One number for each pair: `low`, a proved lower bound of its canonical key, for engines that select on numbers rather
// than compare with cut-offs (KeyBound, bound.h, is the form for those). low_ij = t_i + t_j - 2 acc in fp32, with a
// term t of each point; low + 2 (b_i + b_j) is an upper bound. Both in units of the key x scale(). Derivation:
// docs/internals/error-bound.md, "A number for each pair". For the CPU and for device code.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "metric/metric.h"
#include "metric/ops.h"
#include "refine/bound.h"

namespace libknng {

// What is measured of a point when its operand is made: fp64 sums over its dim coordinates, x = 2^s (u - c) in fp64.
struct OperandSums {
  double square = 0;    // of x^2
  double residual = 0;  // of (x - a)^2, a the operand, all its pieces together
  double piece = 0;     // of the squared second piece; 0 if there is one piece
};

class LowBound {
 public:
  // How far rounding takes the operands of most points: |x - a| <= residual |x|, |second piece| <= piece |x|. Any
  // choice is right, since a point that exceeds it counts as a longer one; an honest one makes the bound tight.
  struct Ratios {
    double residual;   // at least kSmallestRatio
    double piece = 0;  // 0: one piece
  };
  static constexpr double kSmallestRatio = 0x1p-24;
  static constexpr int kLargestExponent = 500;

  // `exponent` is s, at most kLargestExponent in magnitude; `unit` is that of the product of whole operands. For
  // metrics of the terms squared_difference and product, dim <= kLargestFilterDim.
  LowBound(const Metric& metric, std::int64_t dim, int exponent, const ProductUnit& unit,
           const Ratios& ratios) noexcept;

  // Key x scale is in the units of low; a power of two.
  double scale() const noexcept { return scale_; }

  // b of a point, to be rounded up to fp32.
  KNNG_HD double bound(const OperandSums& p) const {
    const double residual =
        (ScalarOps::sqrt(p.residual * above_) + kRoundingOfX * ScalarOps::sqrt(p.square * above_)) * inverse_residual_;
    const double length = ScalarOps::max(p.square * above_, residual * residual);
    const double inflated = ScalarOps::max(length, p.piece * above_ * inverse_piece_ * inverse_piece_) * kUp;
    return (beta_ * inflated + floor_) * kOfBound;
  }
  // t of a point, to be rounded down to fp32; `bound` as it was rounded.
  KNNG_HD double term(const OperandSums& p, double bound) const {
    return product_ ? -bound : p.square * below_ * kDown - bound * kUp;
  }

 private:
  static constexpr double kUp = 1 + 0x1p-49, kDown = 1 - 0x1p-49;  // room for eight roundings of fp64
  static constexpr double kOfBound = 1 + 0x1p-20;                  // what fp32 does to low, relative to b
  static constexpr double kRoundingOfX = 0x1p-52;

  bool product_;
  double scale_;
  double beta_;           // of squared lengths
  double floor_;          // underflow
  double above_, below_;  // from a computed sum to one that is not below, not above the real one
  double inverse_residual_, inverse_piece_;
};

// The unit of two-piece operands, a = a' + a'', whose product is a'.a' + a'.a'' + a''.a': as one product of 3 dim terms
// in `unit`, which is that of 3 dim terms.
ProductUnit two_piece_unit(const ProductUnit& unit, const LowBound::Ratios& ratios) noexcept;

}  // namespace libknng
