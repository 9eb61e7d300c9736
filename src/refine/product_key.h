// A key from products in fp64, and how far it may be from the canonical one: where nothing depends on so little, the
// canonical sum need not be evaluated. |x_i - x_j|^2 = x_i.x_i + x_j.x_j - 2 x_i.x_j, of x = u - c in fp64, u a
// canonical row and c any centre. Derivation: docs/internals/error-bound.md, "Keys from products in fp64". For the host
// and for device code.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "metric/metric.h"
#include "refine/bound.h"

namespace libknng {

// Sums of products in fp64 in any order, fused or not: each operation may lose 2^-52 of what it adds up (twice what
// rounding to nearest does), and what flushing takes.
inline ProductUnit fp64_unit(std::int64_t dim) noexcept {
  const double lost = static_cast<double>(dim + 2) * 0x1p-52;
  return {lost / (1 - lost) * (1 + 0x1p-50), static_cast<double>(dim) * 0x1p-1020};
}

class ProductKey {
 public:
  // Of metrics whose term is squared_difference; dim <= kLargestFilterDim.
  ProductKey(const Metric& metric, std::int64_t dim) noexcept
      : scale_(metric.scale),
        share_(metric.scale * (2 * fp64_unit(dim).gamma + 16 * 0x1p-53 + 2.5 * key_error(dim)) * kUp),
        floor_(8 * fp64_unit(dim).eta + key_floor()) {}

  KNNG_HD double key(double ii, double jj, double ij) const { return scale_ * ((ii + jj) - 2 * ij); }
  // The canonical key is above key - error and below key + error, however these two are rounded.
  KNNG_HD double error(double ii, double jj) const { return share_ * (ii + jj) + floor_; }

 private:
  static constexpr double kUp = 1 + 0x1p-18;  // gamma is below 2^-31: of lengths as they were found

  double scale_, share_, floor_;
};

}  // namespace libknng
