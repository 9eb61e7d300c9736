#include "backend/cpu/direct_worker.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/direct_strip.h"
#include "core/division.h"

namespace libknng {
namespace {

constexpr double kTakesNothing = -std::numeric_limits<double>::infinity();

}  // namespace

void DirectWorker::run(const Tile& t) {
  if (t.row_block != packed_row_block_)
    pack_points(tile_, problem_.rows, t.first_row, t.rows, space_.row.data(), space_.rows.data());
  packed_row_block_ = t.row_block;
  open_row_block_ = -1;
  pack_points(tile_, problem_.columns, t.first_column, t.columns, space_.row.data(), space_.columns.data());
  for (std::int64_t first = 0; first < t.rows; first += space_.strip_rows) {
    const bool below_diagonal = problem_.grid.square && t.first_column + t.columns - 1 <= t.first_row + first;
    if (!below_diagonal) run_strip(t, first, std::min(space_.strip_rows, t.rows - first));
  }
}

void DirectWorker::run_strip(const Tile& t, std::int64_t first, std::int64_t rows) {
  const std::int64_t first_row = t.first_row + first, padded_rows = round_up(rows, kPanelRows);
  DirectStrip strip = make_strip(problem_, tile_, t, first, rows, kTakesNothing, space_);
  // Cut-offs only fall: a stale one lets through too much, never too little.
  double* cutoffs = space_.cutoffs.data();
  read_cutoffs(first_row, rows, cutoffs);
  if (problem_.grid.square) read_cutoffs(t.first_column, t.columns, cutoffs + padded_rows);

  if (!skip_directionless_) mark_directionless(problem_, t, first, space_, strip);
  const std::int64_t found = tile_.run[static_cast<int>(problem_.metric.term)](strip);
  if (found > 0) offer(t, first_row, {strip.survivors, static_cast<std::size_t>(found)});
}

void DirectWorker::read_cutoffs(std::int64_t first, std::int64_t count, double* out) {
  lists_.visit(first, count, [&](const NeighbourLists& lists, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) out[i - first] = lists.cutoff(i);
  });
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
