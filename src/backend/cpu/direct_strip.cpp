#include "backend/cpu/direct_strip.h"
#include "core/division.h"

#include <algorithm>

namespace libknng {

void pack_points(const DirectTile& kernels, const CanonicalRows& points, std::int64_t first, std::int64_t count,
                 double* u, double* panels) {
  const std::int64_t dim = points.dim(), size = panel_size(dim, kernels.lanes);
  for (std::int64_t i = 0; i < round_up(count, kPanelRows); ++i) {
    double* const panel = panels + i / kPanelRows * size;
    if (const float* const stored = i < count ? points.floats(first + i) : nullptr) {
      kernels.pack_floats(stored, dim, i % kPanelRows, panel);
      continue;
    }
    if (i < count)
      points.load(first + i, u);
    else
      std::fill_n(u, dim, 0.0);  // fills the last panel; its pairs are dropped by index
    kernels.pack(u, dim, i % kPanelRows, panel);
  }
}

DirectStrip make_strip(const CpuProblem& problem, const DirectTile& kernels, const Tile& t, std::int64_t first,
                       std::int64_t rows, double cutoff, DirectWorkspace& space) {
  const std::int64_t padded_rows = round_up(rows, kPanelRows), padded_columns = round_up(t.columns, kPanelRows);
  std::fill_n(space.cutoffs.data(), padded_rows + padded_columns, cutoff);
  DirectStrip strip;
  strip.rows = space.rows.data() + first / kPanelRows * panel_size(problem.rows.dim(), kernels.lanes);
  strip.columns = space.columns.data();
  strip.row_count = rows;
  strip.column_count = t.columns;
  strip.dim = problem.rows.dim();
  strip.p = problem.metric.p;
  strip.scale = problem.metric.scale;
  strip.row_cutoffs = space.cutoffs.data();
  strip.column_cutoffs = space.cutoffs.data() + padded_rows;
  strip.row_directionless = strip.column_directionless = nullptr;
  if (problem.grid.square) strip.diagonal = t.first_row + first - t.first_column;
  strip.survivors = space.survivors.data();
  return strip;
}

void mark_directionless(const CpuProblem& problem, const Tile& t, std::int64_t first, DirectWorkspace& space,
                        DirectStrip& strip) {
  if (!problem.rows.any_directionless() && !problem.columns.any_directionless()) return;
  const std::int64_t padded_rows = round_up(strip.row_count, kPanelRows);
  const std::int64_t padded = padded_rows + round_up(t.columns, kPanelRows);
  double* row_flags = space.cutoffs.data() + padded;
  double* column_flags = row_flags + padded_rows;
  std::fill_n(row_flags, padded, 0.0);
  for (std::int64_t i = 0; i < strip.row_count; ++i) row_flags[i] = problem.rows.directionless(t.first_row + first + i);
  for (std::int64_t j = 0; j < t.columns; ++j) column_flags[j] = problem.columns.directionless(t.first_column + j);
  strip.row_directionless = row_flags;
  strip.column_directionless = column_flags;
}

}  // namespace libknng
