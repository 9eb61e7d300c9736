#include "backend/cpu/filter_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/filter_tile.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/product-inl.h"
#include "backend/cpu/strip_walk.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

// Products of kRows rows with kColumns columns, and which of them survive.
HWY_INLINE std::int64_t run_block(const FilterStrip& s, std::int64_t row, std::int64_t column, FilterSurvivor* out) {
  const FloatTag d;
  Floats acc[kRows][kVectors];
  const auto* columns = static_cast<const float*>(s.columns);
  const float* ahead =
      panel_ahead(columns, s.dim, row / kRows - s.first_row / kRows, column, s.first_column + s.column_count - 1);
  multiply(static_cast<const float*>(s.rows), columns, s.dim, row, column, ahead, acc);
  const std::int64_t row_base = s.first_row / kFilterPanel * kFilterPanel;
  const std::int64_t column_base = s.first_column / kFilterPanel * kFilterPanel;
  std::int64_t found = 0;
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t first = column + v * kFloats;
    const Floats column_half = hn::LoadU(d, s.column_half + first);
    const Floats column_threshold = hn::LoadU(d, s.column_threshold + (first - column_base));
    for (int i = 0; i < kRows; ++i) {
      const auto for_row = hn::Ge(hn::Sub(acc[i][v], column_half), hn::Set(d, s.row_threshold[row + i - row_base]));
      const auto for_column = hn::Ge(hn::Sub(acc[i][v], hn::Set(d, s.row_half[row + i])), column_threshold);
      const auto survives = hn::Or(for_row, for_column);
      if (HWY_LIKELY(hn::AllFalse(d, survives))) continue;
      HWY_ALIGN float products[kFloats];
      std::uint64_t bits = 0;
      hn::Store(acc[i][v], d, products);
      hn::StoreMaskBits(d, survives, reinterpret_cast<std::uint8_t*>(&bits));
      found += append_survivors(s, row + i, first, bits, products, out + found);
    }
  }
  return found;
}

FilterProgress run_filter(const FilterStrip& s, std::int64_t first_column_panel) {
  const auto block = [&s](std::int64_t row, std::int64_t panel, FilterSurvivor* out) {
    std::int64_t found = 0;
    for (std::int64_t column = panel * kFilterPanel; column < (panel + 1) * kFilterPanel; column += kColumns)
      found += run_block(s, row, column, out + found);
    return found;
  };
  return walk_panels<FilterProgress, kRows, kRows>(s, first_column_panel, block);
}

const FilterTile* filter_tile() {
  static const FilterTile tile = {hwy::TargetName(HWY_TARGET), run_filter, fp32_unit};
  return &tile;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const FilterTile* const> filter_tiles() {
  static constexpr SimdVariant<const FilterTile*()> kVariants[] = {KNNG_SIMD_VARIANTS(filter_tile)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif
