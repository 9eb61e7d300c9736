// A tile of lower bounds from fp32 products (refine/low_bound.h): low = t_i + t_j - 2 acc of every pair of a block of
// points with another, written to memory. Compiled once per SIMD target. Knows nothing of metrics, lists or selectors.
#pragma once

#include <cstdint>
#include <span>

#include "prepare/filter_panel.h"

namespace libknng {

struct LowStrip {
  const float* rows;     // panels of all points
  const float* columns;  // likewise
  std::int64_t first_row = 0, row_count = 0;
  std::int64_t first_column = 0, column_count = 0;
  std::int64_t dim = 0;
  const float* row_terms;     // of all points, to the end of the last panel
  const float* column_terms;  // likewise
  bool square = false;        // blocks of pairs with column <= row may be left out
  // Pair (i, j) goes to [(i - a) stride + (j - b)], a and b the first points of first_row's and first_column's panels;
  // what shares a panel with the ends of a block is written as well.
  float* low;
  std::int64_t stride = 0;
};

struct LowProducts {
  const char* target;
  void (*run)(const LowStrip& strip);
};

// Those compiled that run here, best first; never empty.
std::span<const LowProducts* const> low_products();

}  // namespace libknng
