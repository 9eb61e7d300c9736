#include "backend/cpu/direct_worker.h"

#include <algorithm>
#include <limits>

namespace libknng {
namespace {

constexpr double kTakesNothing = -std::numeric_limits<double>::infinity();

}  // namespace

void DirectWorker::run(const Tile& t) {
  if (t.row_block != packed_row_block_) pack(problem_.rows, t.first_row, t.rows, space_.rows.data());
  packed_row_block_ = t.row_block;
  open_row_block_ = -1;
  pack(problem_.columns, t.first_column, t.columns, space_.columns.data());
  for (std::int64_t first = 0; first < t.rows; first += space_.strip_rows) {
    const bool below_diagonal = problem_.grid.square && t.first_column + t.columns - 1 <= t.first_row + first;
    if (!below_diagonal) run_strip(t, first, std::min(space_.strip_rows, t.rows - first));
  }
}

void DirectWorker::pack(const CanonicalRows& points, std::int64_t first, std::int64_t count, double* panels) {
  const std::int64_t dim = points.dim(), size = panel_size(dim, tile_.lanes);
  double* u = space_.row.data();
  for (std::int64_t i = 0; i < round_up(count, kPanelRows); ++i) {
    if (i < count)
      points.load(first + i, u);
    else
      std::fill_n(u, dim, 0.0);  // fills the last panel; its pairs are dropped by index
    tile_.pack(u, dim, i % kPanelRows, panels + i / kPanelRows * size);
  }
}

void DirectWorker::run_strip(const Tile& t, std::int64_t first, std::int64_t rows) {
  const bool square = problem_.grid.square;
  const std::int64_t first_row = t.first_row + first;
  const std::int64_t padded_rows = round_up(rows, kPanelRows), padded_columns = round_up(t.columns, kPanelRows);
  double* row_cutoffs = space_.cutoffs.data();
  double* column_cutoffs = row_cutoffs + padded_rows;
  double* row_flags = column_cutoffs + padded_columns;
  double* column_flags = row_flags + padded_rows;

  // Cut-offs only fall: a stale one lets through too much, never too little.
  std::fill_n(row_cutoffs, padded_rows + padded_columns, kTakesNothing);
  read_cutoffs(first_row, rows, row_cutoffs);
  if (square) read_cutoffs(t.first_column, t.columns, column_cutoffs);

  DirectStrip strip;
  strip.rows = space_.rows.data() + first / kPanelRows * panel_size(problem_.rows.dim(), tile_.lanes);
  strip.columns = space_.columns.data();
  strip.row_count = rows;
  strip.column_count = t.columns;
  strip.dim = problem_.rows.dim();
  strip.p = problem_.metric.p;
  strip.scale = problem_.metric.scale;
  strip.row_cutoffs = row_cutoffs;
  strip.column_cutoffs = column_cutoffs;
  strip.row_directionless = strip.column_directionless = nullptr;
  if (!skip_directionless_ && (problem_.rows.any_directionless() || problem_.columns.any_directionless())) {
    std::fill_n(row_flags, padded_rows + padded_columns, 0.0);
    for (std::int64_t i = 0; i < rows; ++i) row_flags[i] = problem_.rows.directionless(first_row + i);
    for (std::int64_t j = 0; j < t.columns; ++j) column_flags[j] = problem_.columns.directionless(t.first_column + j);
    strip.row_directionless = row_flags;
    strip.column_directionless = column_flags;
  }
  if (square) strip.diagonal = first_row - t.first_column;
  strip.survivors = space_.survivors.data();

  const std::int64_t found = tile_.run[static_cast<int>(problem_.metric.term)](strip);
  if (found > 0) offer(t, first_row, {space_.survivors.data(), static_cast<std::size_t>(found)});
}

void DirectWorker::read_cutoffs(std::int64_t first, std::int64_t count, double* out) {
  lists_.visit(first, count, [&](const NeighbourLists& lists, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) out[i - first] = lists.cutoff(i);
  });
}

bool DirectWorker::dropped(std::int64_t row, std::int64_t id) const noexcept {
  if (problem_.leave_out && problem_.leave_out[row] == id) return true;
  if (problem_.grid.square && row == id) return true;
  return skip_directionless_ && (problem_.rows.directionless(row) || problem_.columns.directionless(id));
}

void DirectWorker::offer(const Tile& t, std::int64_t first_row, std::span<const Survivor> survivors) {
  lists_.offer(survivors, [&](const Survivor& s) -> SharedLists::Offer {
    const std::int64_t row = first_row + s.row, id = t.first_column + s.column;
    return {dropped(row, id) ? -1 : row, s.key, id};
  });
  if (!problem_.grid.square) return;
  lists_.offer(survivors, [&](const Survivor& s) -> SharedLists::Offer {
    const std::int64_t row = t.first_column + s.column, id = first_row + s.row;
    return {dropped(row, id) ? -1 : row, s.key, id};
  });
}

void DirectWorker::open(const Tile& t) {
  if (t.row_block != open_row_block_) std::fill_n(space_.loaded_rows.data(), t.rows, std::uint8_t{0});
  std::fill_n(space_.loaded_columns.data(), t.columns, std::uint8_t{0});
  open_row_block_ = t.row_block;
  packed_row_block_ = -1;
}

const double* DirectWorker::canonical(const CanonicalRows& points, std::int64_t first, std::int32_t place,
                                      Buffer<std::uint8_t>& loaded, Buffer<double>& rows) const noexcept {
  double* u = rows.data() + place * round_up(points.dim(), DirectWorkspace::kMostLanes);
  if (!loaded[place]) points.load(first + place, u);
  loaded[place] = 1;
  return u;
}

}  // namespace libknng
