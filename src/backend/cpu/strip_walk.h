// The loops of a filter tile over a strip, whatever its arithmetic: panels of columns, in each of them blocks of rows,
// and which lanes of a block are pairs of the strip. For FilterStrip and IntegerStrip. Compiled into their functions,
// so that it uses the same instructions. Knows nothing of products.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "prepare/filter_panel.h"

namespace libknng {

// Appends to `out` those pairs of `row` with columns first_column + lane, for each bit of `lanes`, that belong to the
// strip; values: by lane. Returns how many.
template <class Strip, class Value, class Survivor>
[[gnu::always_inline]] inline std::int64_t append_survivors(const Strip& s, std::int64_t row, std::int64_t first_column,
                                                            std::uint64_t lanes, const Value* values, Survivor* out) {
  std::int64_t found = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::int64_t column = first_column + lane;
    if (row < s.first_row || row >= s.first_row + s.row_count || column < s.first_column ||
        column >= s.first_column + s.column_count)
      continue;
    if (s.square && column <= row) continue;
    out[found++] = {values[lane], static_cast<std::int32_t>(row - s.first_row),
                    static_cast<std::int32_t>(column - s.first_column)};
  }
  return found;
}

// For each panel of columns from first_panel on, block(row, panel, out) for kRows rows at a time, beginning at a
// multiple of kGrain; it appends survivors to `out` and returns how many. Ends early where they might not fit.
template <class Progress, int kGrain, int kRows, class Strip, class Block>
[[gnu::always_inline]] inline Progress walk_panels(const Strip& s, std::int64_t first_panel, const Block& block) {
  const std::int64_t last_row = s.first_row + s.row_count, last_column = s.first_column + s.column_count;
  std::int64_t found = 0;
  std::int64_t panel = std::max(first_panel, s.first_column / kFilterPanel);
  for (; panel * kFilterPanel < last_column; ++panel) {
    if (s.capacity - found < s.row_count * kFilterPanel) break;
    for (std::int64_t row = s.first_row / kGrain * kGrain; row < last_row; row += kRows) {
      if (s.square && (panel + 1) * kFilterPanel - 1 <= row) break;  // on and below the diagonal from here on
      found += block(row, panel, s.survivors + found);
    }
  }
  return {panel, found};
}

}  // namespace libknng
