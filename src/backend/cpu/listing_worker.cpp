#include "backend/cpu/listing_worker.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/direct_strip.h"
#include "core/division.h"

namespace libknng {
namespace {

// Rows of a strip, whose keys stay in the first level cache together with the columns' they are selected from.
constexpr std::int64_t kStripRows = 16;
static_assert(kStripRows % kListedTogether == 0 && kStripRows % kPanelRows == 0);

constexpr double kNoPair = std::numeric_limits<double>::quiet_NaN();

// Fewer queries fill no vector of lists.
constexpr std::int64_t kFewestQueries = 4;

std::int64_t padded(std::int64_t points) { return round_up(points, kListedTogether); }
// Columns of a graph have lists, and so keys by row.
std::int64_t listed_columns(const TileGrid& grid) { return grid.square ? grid.tile_cols : 0; }
// Those beside the rows' lists: a tile of all points is on the diagonal.
std::int64_t apart(const TileGrid& grid) {
  return grid.tile_rows < grid.rows || grid.tile_cols < grid.columns ? listed_columns(grid) : 0;
}

}  // namespace

std::int64_t ListingWorker::bytes(const TileGrid& grid, std::int64_t k) {
  return SideLists::bytes(grid.tile_rows, k) + SideLists::bytes(apart(grid), k) +
         8 * kStripRows * (padded(grid.tile_cols) + padded(listed_columns(grid)));
}

// Of 200 points in 32 dimensions k = 10 takes half of the other's time and k = 1 four fifths; of 1,000 k = 10 takes
// three quarters and k = 1 a third more, as few pairs find a place (one thread, AVX2).
bool ListingWorker::pays(const TileGrid& grid, std::int64_t k) {
  return k <= SideLists::kMostListed && grid.columns <= 200 + 100 * k && (grid.square || grid.rows >= kFewestQueries);
}

ListingWorker::ListingWorker(const CpuProblem& problem, std::int64_t k, DirectWorkspace& space, Budget* budget)
    : problem_(problem),
      tile_(*direct_tiles().front()),
      space_(space),
      rows_(problem.grid.tile_rows, k, budget),
      columns_(apart(problem.grid), k, budget),
      insert_(tree_targets().front()->insert(rows_.positions(), false)),
      by_row_(kStripRows * padded(listed_columns(problem.grid)), 0.0, budget),
      by_column_(kStripRows * padded(problem.grid.tile_cols), 0.0, budget) {}

void ListingWorker::run(const Tile& t, SharedLists& lists) {
  if (t.row_block != packed_row_block_)
    pack_points(tile_, problem_.rows, t.first_row, t.rows, space_.row.data(), space_.rows.data());
  packed_row_block_ = t.row_block;
  // On the diagonal a point has one list. It gets the points before it as a column, then those behind it as a row.
  const bool square = problem_.grid.square, on_diagonal = t.first_row == t.first_column && t.rows == t.columns;
  SideLists* const of_columns = !square ? nullptr : on_diagonal ? &rows_ : &columns_;
  if (of_columns != &rows_)
    pack_points(tile_, problem_.columns, t.first_column, t.columns, space_.row.data(), space_.columns.data());
  open(rows_, t.first_row, t.rows, lists);
  if (of_columns == &columns_) open(columns_, t.first_column, t.columns, lists);
  for (std::int64_t first = 0; first < t.rows; first += kStripRows)
    if (!square || t.first_column + t.columns - 1 > t.first_row + first) run_strip(t, first, of_columns);
  hand_over(rows_, t.first_row, t.rows, lists);
  if (of_columns == &columns_) hand_over(columns_, t.first_column, t.columns, lists);
}

void ListingWorker::run_strip(const Tile& t, std::int64_t first, SideLists* of_columns) {
  const std::int64_t rows = std::min(kStripRows, t.rows - first), stride = padded(t.columns);
  DirectStrip strip = make_strip(problem_, tile_, t, first, rows, 0, space_);
  if (of_columns == &rows_) strip.columns = space_.rows.data();  // the same points
  mark_directionless(problem_, t, first, space_, strip);
  double* const by_row = of_columns ? by_row_.data() : nullptr;
  tile_.keys[static_cast<int>(problem_.metric.term)](strip, by_row, stride, by_column_.data(), kStripRows);
  ListedKeys from;
  from.diagonal = strip.diagonal;
  if (of_columns) {
    from.of_rows = false;
    from.keys = by_row;
    from.stride = stride;
    from.first_list = 0;
    from.lists = t.columns;
    from.count = rows;
    from.first_id = static_cast<double>(t.first_row + first);
    tile_.select(from, insert_, *of_columns);
  } else {
    leave_out(t, first, rows);
  }
  from.of_rows = true;
  from.keys = by_column_.data();
  from.stride = kStripRows;
  from.first_list = first;
  from.lists = rows;
  from.count = t.columns;
  from.first_id = static_cast<double>(t.first_column);
  tile_.select(from, insert_, rows_);
}

// Columns that queries must not get. In a graph a pair of a row with itself is none from the start.
void ListingWorker::leave_out(const Tile& t, std::int64_t first, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i)
    problem_.admission.of(t.first_row + first + i)
        .each_refused(t.first_column, t.first_column + t.columns,
                      [&](std::int64_t id) { by_column_.data()[(id - t.first_column) * kStripRows + i] = kNoPair; });
}

void ListingWorker::open(SideLists& side, std::int64_t first, std::int64_t count, SharedLists& shared) {
  shared.visit(first, count, [&](const NeighbourLists& lists, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) side.clear(i - first, lists.cutoff(i));
  });
  for (std::int64_t i = count; i < padded(count); ++i) side.close(i);
}

void ListingWorker::hand_over(SideLists& side, std::int64_t first, std::int64_t count, SharedLists& shared) {
  shared.visit(first, count, [&](NeighbourLists& lists, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) side.hand_over(i - first, lists, i);
  });
}

}  // namespace libknng
