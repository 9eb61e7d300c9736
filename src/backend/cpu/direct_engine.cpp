#include "backend/cpu/direct_engine.h"

#include <omp.h>

#include <algorithm>
#include <limits>

#include "core/float_env.h"
#include "merge/shared_lists.h"

namespace libknng {
namespace {

constexpr double kTakesNothing = -std::numeric_limits<double>::infinity();

// One thread's walk through tiles.
class Worker {
 public:
  Worker(const DirectProblem& problem, const DirectTile& tile, DirectWorkspace& space, SharedLists& lists)
      : problem_(problem), tile_(tile), space_(space), lists_(lists) {}

  void run(const Tile& t) {
    if (t.row_block != packed_row_block_) pack(problem_.rows, t.first_row, t.rows, space_.rows.data());
    packed_row_block_ = t.row_block;
    pack(problem_.columns, t.first_column, t.columns, space_.columns.data());
    for (std::int64_t first = 0; first < t.rows; first += space_.strip_rows) {
      const bool below_diagonal = problem_.grid.square && t.first_column + t.columns - 1 <= t.first_row + first;
      if (!below_diagonal) run_strip(t, first, std::min(space_.strip_rows, t.rows - first));
    }
  }

 private:
  void pack(const CanonicalRows& points, std::int64_t first, std::int64_t count, double* panels) {
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

  void run_strip(const Tile& t, std::int64_t first, std::int64_t rows) {
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
    if (problem_.rows.any_directionless() || problem_.columns.any_directionless()) {
      std::fill_n(row_flags, padded_rows + padded_columns, 0.0);
      for (std::int64_t i = 0; i < rows; ++i) row_flags[i] = problem_.rows.directionless(first_row + i);
      for (std::int64_t j = 0; j < t.columns; ++j) column_flags[j] = problem_.columns.directionless(t.first_column + j);
      strip.row_directionless = row_flags;
      strip.column_directionless = column_flags;
    }
    if (square) strip.diagonal = first_row - t.first_column;
    strip.survivors = space_.survivors.data();

    const std::int64_t found = tile_.run[static_cast<int>(problem_.metric.term)](strip);
    if (found > 0) offer(t, first_row, rows, {space_.survivors.data(), static_cast<std::size_t>(found)});
  }

  void read_cutoffs(std::int64_t first, std::int64_t count, double* out) {
    lists_.visit(first, count, [&](const NeighbourLists& lists, std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) out[i - first] = lists.cutoff(i);
    });
  }

  void offer(const Tile& t, std::int64_t first_row, std::int64_t rows, std::span<const Survivor> survivors) {
    const std::int64_t* leave_out = problem_.leave_out;
    lists_.visit(first_row, rows, [&](NeighbourLists& lists, std::int64_t from, std::int64_t to) {
      for (const Survivor& s : survivors) {
        const std::int64_t row = first_row + s.row, id = t.first_column + s.column;
        if (row >= from && row < to && !(leave_out && leave_out[row] == id)) lists.offer(row, s.key, id);
      }
    });
    if (!problem_.grid.square) return;
    lists_.visit(t.first_column, t.columns, [&](NeighbourLists& lists, std::int64_t from, std::int64_t to) {
      for (const Survivor& s : survivors) {
        const std::int64_t row = t.first_column + s.column;
        if (row >= from && row < to) lists.offer(row, s.key, first_row + s.row);
      }
    });
  }

  const DirectProblem& problem_;
  const DirectTile& tile_;
  DirectWorkspace& space_;
  SharedLists& lists_;
  std::int64_t packed_row_block_ = -1;
};

}  // namespace

void run_direct(const DirectProblem& problem, const DirectTile& tile, NeighbourLists& lists, Budget* budget,
                Monitor& monitor) {
  const TileGrid& grid = problem.grid;
  std::vector<DirectWorkspace> spaces;
  spaces.reserve(static_cast<std::size_t>(problem.threads));
  for (int i = 0; i < problem.threads; ++i)
    spaces.emplace_back(grid.tile_rows, grid.tile_cols, problem.rows.dim(), budget);
  SharedLists shared(lists, grid.rows);
  TileQueue queue(grid);
  monitor.stage("distances", grid.pairs());
#pragma omp parallel num_threads(problem.threads)
  {
    const FloatEnv env;
    Worker worker(problem, tile, spaces[static_cast<std::size_t>(omp_get_thread_num())], shared);
    for (Tile t; !monitor.stopped() && queue.next(t);) {
      worker.run(t);
      monitor.advance(grid.pairs_of(t));
    }
  }
  monitor.check();
}

}  // namespace libknng
