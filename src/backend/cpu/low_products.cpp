#include "backend/cpu/low_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/low_products.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

HWY_INLINE void write_block(const LowStrip& s, std::int64_t row, std::int64_t column, float* out) {
  const FloatTag d;
  Floats acc[kRows][kVectors];
  const float* ahead =
      panel_ahead(s.columns, s.dim, row / kRows - s.first_row / kRows, column, s.first_column + s.column_count - 1);
  multiply(s.rows, s.columns, s.dim, row, column, ahead, acc);
  for (int v = 0; v < kVectors; ++v) {
    const Floats column_terms = hn::LoadU(d, s.column_terms + column + v * kFloats);
    for (int i = 0; i < kRows; ++i) {
      const Floats terms = hn::Add(hn::Set(d, s.row_terms[row + i]), column_terms);
      // 2 acc is exact: one rounding, as in a fused operation.
      hn::StoreU(hn::Sub(terms, hn::Add(acc[i][v], acc[i][v])), d, out + i * s.stride + v * kFloats);
    }
  }
}

void write_lows(const LowStrip& s) {
  const std::int64_t row_base = s.first_row / kFilterPanel * kFilterPanel;
  const std::int64_t column_base = s.first_column / kFilterPanel * kFilterPanel;
  const std::int64_t last_row = s.first_row + s.row_count, last_column = s.first_column + s.column_count;
  for (std::int64_t from = column_base; from < last_column; from += kFilterPanel) {
    for (std::int64_t row = s.first_row / kRows * kRows; row < last_row; row += kRows) {
      if (s.square && from + kFilterPanel - 1 <= row) break;  // on and below the diagonal from here on
      for (std::int64_t column = from; column < from + kFilterPanel; column += kColumns)
        write_block(s, row, column, s.low + (row - row_base) * s.stride + (column - column_base));
    }
  }
}

const LowProducts* low_products_here() {
  static const LowProducts products = {hwy::TargetName(HWY_TARGET), write_lows};
  return &products;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const LowProducts* const> low_products() {
  static constexpr SimdVariant<const LowProducts*()> kVariants[] = {KNNG_SIMD_VARIANTS(low_products_here)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif
