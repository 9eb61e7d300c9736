#include "refine/low_bound.h"

namespace libknng {

LowBound::LowBound(const Metric& metric, std::int64_t dim, double factor, const ProductUnit& unit,
                   const Rounding& rounding) noexcept
    : product_(metric.term == Term::product),
      dim_(dim),
      scale_((product_ ? 2.0 : 1 / metric.scale) * (factor * factor)),
      ratio_(rounding.ratio),
      inverse_ratio_(1 / rounding.ratio),
      longest_(rounding.longest) {
  constexpr double kRoundingOfScaledKey = 0x1p-53;
  const double fp32 = 8 * 0x1p-24 * (1 + unit.gamma);
  of_lengths_ = unit.gamma + 2 * (key_error(dim) + kRoundingOfScaledKey) + fp32;
  floor_ = unit.eta + key_floor() * (factor * factor) + 0x1p-147;
}

}  // namespace libknng
