// Products as a filter's tile evaluates them, and the truth beside them: exact, with what a unit may lose. Knows the
// kernels, and nothing of operands.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "backend/cpu/filter_tile.h"
#include "core/division.h"
#include "exact_sum.h"
#include "prepare/filter_panel.h"
#include "refine/bound.h"

// Products of all points of two operand arrays, laid out as the tile reads them, by row: every pair survives on its
// row's side.
inline std::vector<float> filter_products(const libknng::FilterTile& tile, const void* rows, std::int64_t row_count,
                                          const void* columns, std::int64_t column_count, std::int64_t dim) {
  using libknng::kFilterPanel;
  const auto padded = [](std::int64_t n) { return static_cast<std::size_t>(libknng::round_up(n, kFilterPanel)); };
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> row_half(padded(row_count)), column_half(padded(column_count));
  const std::vector<float> row_threshold(padded(row_count), -infinity),
      column_threshold(padded(column_count), infinity);
  std::vector<libknng::FilterSurvivor> survivors(static_cast<std::size_t>(row_count * kFilterPanel));
  libknng::FilterStrip strip;
  strip.rows = rows;
  strip.columns = columns;
  strip.row_count = row_count;
  strip.column_count = column_count;
  strip.dim = dim;
  strip.row_half = row_half.data();
  strip.column_half = column_half.data();
  strip.row_threshold = row_threshold.data();
  strip.column_threshold = column_threshold.data();
  strip.survivors = survivors.data();
  strip.capacity = static_cast<std::int64_t>(survivors.size());
  std::vector<float> all(static_cast<std::size_t>(row_count * column_count), NAN);
  for (std::int64_t panel = 0; panel * kFilterPanel < column_count;) {
    const libknng::FilterProgress done = tile.run(strip, panel);
    panel = done.next_column_panel;
    for (std::int64_t s = 0; s < done.survivors; ++s) {
      const libknng::FilterSurvivor& pair = survivors[static_cast<std::size_t>(s)];
      all[static_cast<std::size_t>(pair.row * column_count + pair.column)] = pair.product;
    }
  }
  for (const float product : all)
    if (std::isnan(product)) throw std::logic_error("a pair did not survive");
  return all;
}

// The exact product of two points, and how far from it a unit may end up.
struct ProductTruth {
  ProductTruth(const std::vector<float>& a, const std::vector<float>& b, const libknng::ProductUnit& unit) {
    long double aa = 0, bb = 0;
    for (std::size_t t = 0; t < a.size(); ++t) {
      product.add(static_cast<double>(a[t]) * static_cast<double>(b[t]));
      aa += static_cast<long double>(a[t]) * a[t];
      bb += static_cast<long double>(b[t]) * b[t];
    }
    bound = static_cast<long double>(unit.gamma) * std::sqrt(aa) * std::sqrt(bb) + unit.eta;
  }
  // The share of the bound that a result's error takes.
  long double ratio(float found) const {
    ExactSum error = product;
    error.add(-static_cast<double>(found));
    return std::fabs(error.value()) / bound;
  }

  ExactSum product;
  long double bound;
};
