// The fp32 products of a block of points with another, in registers: what the filter tile and the low tile have in
// common. Any order of additions that goes through the coordinates one by one will do (docs/internals/error-bound.md).
// Re-included once per SIMD target by foreach_target.h. Knows nothing of what becomes of the products.
#include "core/hwy_targets.h"

#if defined(KNNG_BACKEND_CPU_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KNNG_BACKEND_CPU_PRODUCT_INL_H
#undef KNNG_BACKEND_CPU_PRODUCT_INL_H
#else
#define KNNG_BACKEND_CPU_PRODUCT_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "prepare/filter_panel.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
constexpr int kFloats = HWY_LANES(float);
// 8 x 3 accumulators of 32 registers with AVX-512; 4 x 3 of 16 elsewhere.
constexpr int kVectors = 3;
constexpr int kRows = kFloats == 16 ? 8 : 4;
constexpr int kColumns = kVectors * kFloats;
static_assert(kFilterPanel % kColumns == 0 && kFilterPanel % kRows == 0);

// What to fetch into the second level cache while a block of rows, the n-th of its panel of columns, is multiplied:
// each of the first three fetches a third of the next panel of columns, up to the panel of `last_column`.
HWY_INLINE const float* panel_ahead(const float* columns, std::int64_t dim, std::int64_t n, std::int64_t column,
                                    std::int64_t last_column) {
  constexpr std::int64_t line = 16;  // floats
  static_assert(kFilterPanel == 3 * line);
  const std::int64_t panel = column / kFilterPanel;
  const bool fetches = n < 3 && panel < last_column / kFilterPanel;
  return columns + (fetches ? (panel + 1) * kFilterPanel * dim + n * line : panel * kFilterPanel * dim);
}

// acc[i][v]: products of row + i with columns column + v kFloats and on. Points by their places in the operands'
// panels; row and column are multiples of kRows and kColumns. ahead: of panel_ahead().
HWY_INLINE void multiply(const float* rows, const float* columns, std::int64_t dim, std::int64_t row,
                         std::int64_t column, const float* ahead, Floats (&acc)[kRows][kVectors]) {
  const FloatTag d;
  const float* a = rows + row / kFilterPanel * kFilterPanel * dim + row % kFilterPanel;
  const float* b = columns + column / kFilterPanel * kFilterPanel * dim + column % kFilterPanel;
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Zero(d);
  for (std::int64_t t = 0; t < dim; ++t, a += kFilterPanel, b += kFilterPanel, ahead += kFilterPanel) {
    __builtin_prefetch(ahead, 0, 2);
    const Floats b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + kFloats), b2 = hn::LoadU(d, b + 2 * kFloats);
    for (int i = 0; i < kRows; ++i) {
      const Floats x = hn::Set(d, a[i]);
      acc[i][0] = hn::MulAdd(x, b0, acc[i][0]);
      acc[i][1] = hn::MulAdd(x, b1, acc[i][1]);
      acc[i][2] = hn::MulAdd(x, b2, acc[i][2]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
