#include "backend/cpu/fused_engine.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/direct_worker.h"
#include "backend/cpu/filter_tile.h"
#include "core/float_env.h"
#include "prepare/filter_operands.h"
#include "refine/bound.h"

namespace libknng {
namespace {

constexpr float kTakesNothing = std::numeric_limits<float>::infinity();

// A key costs about as much by itself as this many pairs of a direct tile: beyond that share of survivors the filter
// loses.
constexpr std::int64_t kKeyCost = 24;
// After a tile that the filter lost, so many are evaluated directly before it is tried again.
constexpr int kDirectRun = 7;

std::int64_t panels_over(std::int64_t points) { return round_up(points, kFilterPanel) + kFilterPanel; }

// The working memory of one thread.
struct FusedWorkspace {
  FusedWorkspace(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim, Budget* budget)
      : direct(tile_rows, tile_cols, dim, budget),
        cutoffs(tile_rows + tile_cols, budget),
        thresholds(panels_over(tile_rows) + panels_over(tile_cols), budget),
        survivors(capacity(tile_rows), budget),
        keys(capacity(tile_rows), budget),
        row(dim, budget),
        column(dim, budget) {}

  static std::int64_t bytes(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim) {
    return DirectWorkspace::bytes(tile_rows, tile_cols, dim) + 8 * (tile_rows + tile_cols + 2 * dim) +
           4 * (panels_over(tile_rows) + panels_over(tile_cols)) +
           capacity(tile_rows) * static_cast<std::int64_t>(sizeof(FilterSurvivor) + sizeof(Survivor));
  }

  DirectWorkspace direct;
  Buffer<double> cutoffs;  // of rows, of columns
  Buffer<float> thresholds;
  Buffer<FilterSurvivor> survivors;
  Buffer<Survivor> keys;
  Buffer<double> row, column;  // transformed rows of a pair

 private:
  // Two panels of columns, all surviving.
  static std::int64_t capacity(std::int64_t tile_rows) { return 2 * tile_rows * kFilterPanel; }
};

struct Filter {
  const FilterOperands& rows;
  const FilterOperands& columns;
  const KeyBound& bound;
};

class FusedWorker {
 public:
  FusedWorker(const CpuProblem& problem, const Filter& filter, FusedWorkspace& space, SharedLists& lists)
      : problem_(problem),
        filter_(filter),
        tile_(*filter_tiles().front()),
        pair_(direct_tiles().front()->pair[static_cast<int>(problem.metric.term)]),
        space_(space),
        direct_(problem, true, space.direct, lists) {}

  void run(const Tile& t) {
    if (direct_run_ > 0 || !read_cutoffs(t)) {
      if (direct_run_ > 0) --direct_run_;
      direct_.run(t);
      counts_.keys += static_cast<std::int64_t>(problem_.grid.pairs_of(t));
      return;
    }
    const std::int64_t before = counts_.keys;
    filter_tile(t);
    if (static_cast<double>((counts_.keys - before) * kKeyCost) > problem_.grid.pairs_of(t)) direct_run_ = kDirectRun;
  }

  const CpuCounts& counts() const noexcept { return counts_; }

 private:
  // Whether all lists of the tile are full: until then nothing can be left out.
  bool read_cutoffs(const Tile& t) {
    double* rows = space_.cutoffs.data();
    double* columns = rows + t.rows;
    direct_.read_cutoffs(t.first_row, t.rows, rows);
    for (std::int64_t i = 0; i < t.rows; ++i)
      if (rows[i] == NeighbourLists::kNoKey && !problem_.rows.directionless(t.first_row + i)) return false;
    if (!problem_.grid.square) return true;
    direct_.read_cutoffs(t.first_column, t.columns, columns);
    for (std::int64_t j = 0; j < t.columns; ++j)
      if (columns[j] == NeighbourLists::kNoKey && !problem_.columns.directionless(t.first_column + j)) return false;
    return true;
  }

  // The largest norm and residual of a block of points.
  static KeyBound::Others largest(const CanonicalRows& points, const FilterOperands& operands, std::int64_t first,
                                  std::int64_t count) {
    KeyBound::Others others;
    for (std::int64_t i = first; i < first + count; ++i) {
      if (points.directionless(i)) continue;
      others.upper = std::max(others.upper, operands.norms(i).upper);
      others.residual = std::max(others.residual, operands.norms(i).residual);
    }
    return others;
  }

  // Thresholds of a block of points, by place from the start of its first panel.
  void set_thresholds(const CanonicalRows& points, const FilterOperands& operands, std::int64_t first,
                      std::int64_t count, const double* cutoffs, const KeyBound::Others& others, float* out) const {
    std::fill_n(out, panels_over(count), kTakesNothing);
    out += first % kFilterPanel;
    for (std::int64_t i = 0; i < count; ++i)
      if (!points.directionless(first + i))
        out[i] = filter_.bound.threshold(operands.norms(first + i), cutoffs[i], others);
  }

  void filter_tile(const Tile& t) {
    float* row_thresholds = space_.thresholds.data();
    float* column_thresholds = row_thresholds + panels_over(t.rows);
    const double* row_cutoffs = space_.cutoffs.data();
    const double* column_cutoffs = row_cutoffs + t.rows;
    set_thresholds(problem_.rows, filter_.rows, t.first_row, t.rows, row_cutoffs,
                   largest(problem_.columns, filter_.columns, t.first_column, t.columns), row_thresholds);
    if (problem_.grid.square)
      set_thresholds(problem_.columns, filter_.columns, t.first_column, t.columns, column_cutoffs,
                     largest(problem_.rows, filter_.rows, t.first_row, t.rows), column_thresholds);
    else
      std::fill_n(column_thresholds, panels_over(t.columns), kTakesNothing);

    FilterStrip strip;
    strip.rows = filter_.rows.panels();
    strip.columns = filter_.columns.panels();
    strip.first_row = t.first_row;
    strip.row_count = t.rows;
    strip.first_column = t.first_column;
    strip.column_count = t.columns;
    strip.dim = problem_.rows.dim();
    strip.row_half = filter_.rows.halves();
    strip.column_half = filter_.columns.halves();
    strip.row_threshold = row_thresholds;
    strip.column_threshold = column_thresholds;
    strip.square = problem_.grid.square;
    strip.survivors = space_.survivors.data();
    strip.capacity = space_.survivors.size();
    for (std::int64_t panel = 0; panel * kFilterPanel < t.first_column + t.columns;) {
      const FilterProgress done = tile_.run(strip, panel);
      panel = done.next_column_panel;
      evaluate(t, done.survivors);
    }
  }

  // Canonical keys of the survivors, which are then offered as in the direct engine.
  void evaluate(const Tile& t, std::int64_t count) {
    const double* row_cutoffs = space_.cutoffs.data();
    const double* column_cutoffs = row_cutoffs + t.rows;
    const std::int64_t dim = problem_.rows.dim();
    std::int64_t kept = 0, loaded = -1;
    for (std::int64_t s = 0; s < count; ++s) {
      const FilterSurvivor& pair = space_.survivors[s];
      const std::int64_t i = t.first_row + pair.row, j = t.first_column + pair.column;
      if (i != loaded) problem_.rows.load(i, space_.row.data());
      loaded = i;
      problem_.columns.load(j, space_.column.data());
      const double key = pair_(space_.row.data(), space_.column.data(), dim, problem_.metric.p, problem_.metric.scale);
      if (!filter_.bound.holds(filter_.rows.norms(i), filter_.columns.norms(j), pair.product, key))
        ++counts_.violations;
      if (key <= row_cutoffs[pair.row] || (problem_.grid.square && key <= column_cutoffs[pair.column]))
        space_.keys[kept++] = {key, pair.row, pair.column};
    }
    counts_.keys += count;
    if (kept > 0) direct_.offer(t, t.first_row, t.rows, {space_.keys.data(), static_cast<std::size_t>(kept)});
  }

  const CpuProblem& problem_;
  const Filter& filter_;
  const FilterTile& tile_;
  PairFunction* pair_;
  FusedWorkspace& space_;
  DirectWorker direct_;
  CpuCounts counts_;
  int direct_run_ = 0;
};

// Pairs with a row without direction all have the same key: the smallest ids win, and one more shows the tie.
void offer_directionless(const CpuProblem& problem, NeighbourLists& lists) {
  const CanonicalRows& rows = problem.rows;
  const CanonicalRows& columns = problem.columns;
  if (!rows.any_directionless() && !columns.any_directionless()) return;
  const std::int64_t wanted = lists.k() + 2;  // one may be the row itself, or left out
  std::vector<std::int64_t> first;            // the first ids without direction
  for (std::int64_t j = 0; j < columns.rows() && static_cast<std::int64_t>(first.size()) < wanted; ++j)
    if (columns.directionless(j)) first.push_back(j);
  const auto offer = [&](std::int64_t i, std::int64_t j) {
    if (!(problem.grid.square && i == j) && !(problem.leave_out && problem.leave_out[i] == j))
      lists.offer(i, kNoDirectionKey, j);
  };
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    if (rows.directionless(i))
      for (std::int64_t j = 0; j < std::min(wanted, columns.rows()); ++j) offer(i, j);
    else
      for (const std::int64_t j : first) offer(i, j);
  }
}

}  // namespace

bool fused_can_run(const Metric& metric, std::int64_t dim) {
  return (metric.term == Term::squared_difference || metric.term == Term::product) && dim <= kLargestFilterDim;
}

// A list takes about k (1 + ln(columns / k)) keys on its way; the filter pays while that is a small share of the
// columns.
bool fused_pays(std::int64_t columns, std::int64_t k) { return columns >= 1024 && k <= columns / 64; }

std::int64_t fused_workspace_bytes(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim) {
  return FusedWorkspace::bytes(tile_rows, tile_cols, dim);
}

CpuCounts run_fused(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor) {
  const TileGrid& grid = problem.grid;
  const std::int64_t dim = problem.rows.dim();
  const FilterFrame frame = FilterFrame::of(problem.metric, problem.columns, problem.rows, problem.threads, monitor);
  const KeyBound bound(problem.metric, dim, frame.exponent, fp32_unit(dim));
  const FilterOperands columns(problem.metric, problem.columns, frame, bound, problem.threads, budget, monitor);
  std::vector<FilterOperands> queries;  // none or one
  if (!grid.square) queries.emplace_back(problem.metric, problem.rows, frame, bound, problem.threads, budget, monitor);
  const Filter filter{grid.square ? columns : queries.front(), columns, bound};

  std::vector<FusedWorkspace> spaces;
  spaces.reserve(static_cast<std::size_t>(problem.threads));
  for (int i = 0; i < problem.threads; ++i) spaces.emplace_back(grid.tile_rows, grid.tile_cols, dim, budget);
  offer_directionless(problem, lists);
  SharedLists shared(lists, grid.rows);
  TileQueue queue(grid);
  std::int64_t keys = 0, violations = 0;
  monitor.stage("distances", grid.pairs());
#pragma omp parallel num_threads(problem.threads) reduction(+ : keys, violations)
  {
    const FloatEnv env;
    FusedWorker worker(problem, filter, spaces[static_cast<std::size_t>(omp_get_thread_num())], shared);
    for (Tile t; !monitor.stopped() && queue.next(t);) {
      worker.run(t);
      monitor.advance(grid.pairs_of(t));
    }
    keys = worker.counts().keys;
    violations = worker.counts().violations;
  }
  monitor.check();
  return {keys, violations};
}

}  // namespace libknng
