#include "refine/low_bound.h"

#include <cmath>

namespace libknng {

LowBound::LowBound(const Metric& metric, std::int64_t dim, int exponent, const ProductUnit& unit,
                   const Ratios& ratios) noexcept
    : product_(metric.term == Term::product),
      scale_(product_ ? std::ldexp(2.0, 2 * exponent) : std::ldexp(1 / metric.scale, 2 * exponent)),
      inverse_residual_(1 / ratios.residual * kUp),
      inverse_piece_(ratios.piece > 0 ? 1 / ratios.piece * kUp : 0) {
  const double rho = ratios.residual, d = static_cast<double>(dim);
  const double operands = 2 * rho + rho * rho + unit.gamma * (1 + rho) * (1 + rho);
  const double fp32 = 8 * 0x1p-24 * (1 + operands);
  beta_ = (operands + 2 * key_error(dim) + fp32) * kUp;
  floor_ = unit.eta + std::ldexp(key_floor(), 2 * exponent) + 0x1p-147;
  above_ = 1 + (d + 8) * 0x1p-52;
  below_ = 1 - (d + 8) * 0x1p-52;
}

ProductUnit two_piece_unit(const ProductUnit& unit, const LowBound::Ratios& ratios) noexcept {
  const double lambda = ratios.piece;
  // |a'| <= |a| + |a''|; the terms' magnitudes add up to (|a'| + |a''|)^2 at most, and a''.a'' is left out.
  const double magnitudes = (1 + 2 * lambda) * (1 + 2 * lambda);
  return {(unit.gamma * magnitudes + lambda * lambda) * (1 + 0x1p-49), unit.eta};
}

}  // namespace libknng
