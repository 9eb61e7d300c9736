// The filter tile of the fused engine: products in fast arithmetic of all pairs of a strip of operands with a block of
// operands, compared in registers with the thresholds of their rows and columns; only pairs that cannot be left out
// leave the chip. Compiled once per SIMD target. Knows nothing of metrics, bounds, lists or threads.
#pragma once

#include <cstdint>
#include <span>

#include "prepare/filter_panel.h"
#include "refine/bound.h"

namespace libknng {

struct FilterSurvivor {
  float product;
  std::int32_t row, column;  // places within the strip and the block
};

// Rows and columns are whole ranges of points of two operand arrays (one, for a graph). Arrays by place within the
// strip or the block. The pair (i, j) survives if fl(acc - column_half[j]) >= row_threshold[i] or fl(acc - row_half[i])
// >= column_threshold[j].
struct FilterStrip {
  const void* rows;     // operands of all points, as the tile reads them: panels of float, or what bf16_tile.h says
  const void* columns;  // likewise
  std::int64_t first_row = 0, row_count = 0;
  std::int64_t first_column = 0, column_count = 0;
  std::int64_t dim = 0;
  const float* row_half;          // of all points
  const float* column_half;       // of all points
  const float* row_threshold;     // by point - first_row rounded down to a panel; +inf: takes nothing
  const float* column_threshold;  // likewise
  bool square = false;            // pairs with column <= row are left out
  FilterSurvivor* survivors;
  std::int64_t capacity = 0;
};

// What a call has done: it ends early, at a panel of columns, when the survivors might not fit.
struct FilterProgress {
  std::int64_t next_column_panel;  // first panel of columns that was not evaluated
  std::int64_t survivors;
};

using FilterFunction = FilterProgress(const FilterStrip& strip, std::int64_t first_column_panel);

struct FilterTile {
  const char* target;
  FilterFunction* run;
  ProductUnit (*unit)(std::int64_t dim);  // the error of its products
};

// In single precision. Those compiled that run here, best first; never empty.
std::span<const FilterTile* const> filter_tiles();

}  // namespace libknng
