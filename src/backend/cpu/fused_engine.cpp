#include "backend/cpu/fused_engine.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/direct_worker.h"
#include "backend/cpu/directionless.h"
#include "backend/cpu/integer_filter.h"
#include "backend/cpu/kept_lows.h"
#include "backend/cpu/product_filter.h"
#include "backend/cpu/side_lists.h"
#include "prepare/filter_operands.h"
#include "prepare/integer_operands.h"

namespace libknng {
namespace {

// After a tile on which the filter let through more than it saved, so many are evaluated directly before it is tried
// again.
constexpr int kDirectRun = 7;

// One thread's walk through tiles.
class FusedWorker {
 public:
  FusedWorker(const CpuProblem& problem, const TileFilter& filter, Budget* budget)
      : problem_(problem),
        survivor_cost_(filter.survivor_cost()),
        space_(problem.grid.tile_rows, problem.grid.tile_cols, problem.rows.dim(), budget),
        cutoffs_(problem.grid.tile_rows + problem.grid.tile_cols, budget),
        ranks_(budget),
        pair_(direct_tiles().front()->pair[static_cast<int>(problem.metric.term)]),
        float_row_keys_(direct_tiles().front()->float_row_keys[static_cast<int>(problem.metric.term)]),
        filter_(filter.worker(budget)) {}

  static std::int64_t bytes(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim) {
    return DirectWorkspace::bytes(tile_rows, tile_cols, dim) + 8 * (tile_rows + tile_cols) + SampleRanks::bytes();
  }

  // Guesses the cut-offs of a panel of rows from the filter's sample of columns.
  void seed(std::int64_t first_row, std::int64_t rank, const ColumnSample& sample, SharedLists& shared,
            NeighbourLists& lists) {
    const DirectWorker direct(problem_, true, space_, shared);
    const std::int64_t count = std::min(kFilterPanel, problem_.rows.rows() - first_row);
    ranks_.start(rank);
    filter_->rank_sample(first_row, count, direct, ranks_);
    for (std::int64_t i = 0; i < count; ++i) {
      // The filter's order is not that of the keys: the largest key of the last few will do.
      std::int32_t places[4];
      const std::int64_t found = ranks_.last(i, places);
      if (found == 0) continue;
      std::int64_t ids[4];
      for (std::int64_t p = 0; p < found; ++p) ids[p] = sample.id(places[p]);
      direct_keys_ += found;
      lists.seed(first_row + i, largest_key(first_row + i, {ids, static_cast<std::size_t>(found)}));
    }
  }

  // All pairs of a row, for a list that did not fill below its guess.
  void redo(std::int64_t row, NeighbourLists& lists) {
    lists.clear(row);
    problem_.rows.load(row, space_.row.data());
    for (std::int64_t id = 0; id < problem_.columns.rows(); ++id) {
      if (!problem_.admission.admits(row, id)) continue;
      const bool directed = !problem_.rows.directionless(row) && !problem_.columns.directionless(id);
      lists.offer(row, directed ? key_of_loaded(id) : kNoDirectionKey, id);
    }
    direct_keys_ += problem_.columns.rows();
  }

  void run(TileQueue& queue, SharedLists& lists, Monitor& monitor) {
    DirectWorker direct(problem_, true, space_, lists);
    for (Tile t; !monitor.stopped() && queue.next(t);) {
      run_tile(t, direct);
      monitor.advance(problem_.grid.pairs_of(t));
    }
  }

  CpuCounts counts() const noexcept { return {direct_keys_ + filter_->counts().keys, filter_->counts().violations}; }

 private:
  // Of a row with some columns, at most four.
  double largest_key(std::int64_t row, std::span<const std::int64_t> columns) {
    const float* stored[4];
    const float* const u = problem_.rows.floats(row);
    bool as_stored = u != nullptr;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      stored[c] = problem_.columns.floats(columns[c]);
      as_stored = as_stored && stored[c] != nullptr;
    }
    double keys[4];
    if (as_stored) {
      float_row_keys_(u, stored, std::ssize(columns), problem_.rows.dim(), problem_.metric.scale, keys);
    } else {
      problem_.rows.load(row, space_.row.data());
      for (std::size_t c = 0; c < columns.size(); ++c) keys[c] = key_of_loaded(columns[c]);
    }
    return *std::max_element(keys, keys + columns.size());
  }
  // With the row in space_.row.
  double key_of_loaded(std::int64_t column) {
    double* v = space_.columns.data();
    problem_.columns.load(column, v);
    return pair_(space_.row.data(), v, problem_.rows.dim(), problem_.metric.p, problem_.metric.scale);
  }

  void run_tile(const Tile& t, DirectWorker& direct) {
    const double pairs = problem_.grid.pairs_of(t);
    if (direct_run_ > 0 || !read_cutoffs(t, direct)) {
      direct_run_ = std::max(0, direct_run_ - 1);
      direct.run(t);
      direct_keys_ += static_cast<std::int64_t>(pairs);
      return;
    }
    const std::int64_t before = filter_->counts().keys;
    filter_->run(t, cutoffs_.data(), cutoffs_.data() + t.rows, direct);
    if (static_cast<double>((filter_->counts().keys - before) * survivor_cost_) > pairs) direct_run_ = kDirectRun;
  }

  // Whether all lists of the tile have a cut-off, guessed or their own: until then nothing can be left out.
  bool read_cutoffs(const Tile& t, DirectWorker& lists) {
    return read_side(problem_.rows, t.first_row, t.rows, lists, cutoffs_.data()) &&
           (!problem_.grid.square ||
            read_side(problem_.columns, t.first_column, t.columns, lists, cutoffs_.data() + t.rows));
  }
  static bool read_side(const CanonicalRows& points, std::int64_t first, std::int64_t count, DirectWorker& lists,
                        double* out) {
    lists.read_cutoffs(first, count, out);
    for (std::int64_t i = 0; i < count; ++i)
      if (out[i] == kNoNeighbour.key && !points.directionless(first + i)) return false;
    return true;
  }

  const CpuProblem& problem_;
  std::int64_t survivor_cost_;
  DirectWorkspace space_;
  Buffer<double> cutoffs_;  // of rows, of columns
  SampleRanks ranks_;
  PairFunction* pair_;
  RowKeysFunction<float>* float_row_keys_;
  std::unique_ptr<TileFilterWorker> filter_;
  std::int64_t direct_keys_ = 0;
  int direct_run_ = 0;
};

void seed_lists(const CpuProblem& problem, const ColumnSample& sample, std::vector<FusedWorker>& workers,
                SharedLists& shared, NeighbourLists& lists, Monitor& monitor) {
  const std::int64_t n = problem.rows.rows();
  const std::int64_t rank = SampleRanks::rank(problem.columns.rows(), sample.size(), lists.k());
  if (rank == 0) return;
  monitor.stage("cut-offs", static_cast<double>(n));
  problem.team.for_each(monitor, n, kFilterPanel, [&](int member, std::int64_t first, std::int64_t) {
    workers[static_cast<std::size_t>(member)].seed(first, rank, sample, shared, lists);
  });
}

// Returns how many lists had to be redone.
std::int64_t redo_lists(const CpuProblem& problem, std::vector<FusedWorker>& workers, NeighbourLists& lists,
                        Monitor& monitor) {
  std::atomic<std::int64_t> redone{0};
  constexpr std::int64_t together = 16;
  problem.team.for_each(problem.rows.rows(), together, [&](int member, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (monitor.stopped() || lists.filled(i)) continue;
      workers[static_cast<std::size_t>(member)].redo(i, lists);
      ++redone;
    }
  });
  monitor.check();
  return redone.load();
}

}  // namespace

bool fused_can_run(const Metric& metric, std::int64_t dim) { return product_filter_can_run(metric, dim); }

// Operands cost about as much as comparing each column directly with 50 to 130 queries, with more where dimensions are
// many: 128 queries take the filter 0.6 of the direct engine's time against 20,000 x 50, 0.97 against 20,000 x 784 and
// 1.17 against 5,000 x 2,000 (fp32). From guessed cut-offs a list takes about 1.5 k keys: the filter pays while that is
// a small share of the columns (20,000 x 8: at k = 2,500 it still takes two thirds of the direct engine's time). Of
// graphs with short lists the direct engine takes all keys of a strip at once, which suits few columns: 600 x 32 at
// k = 1 take it seven eighths of the filter's time, 800 x 128 eight sevenths; at k = 10 1,000 x 32 19 twentieths and
// 1,200 x 32 21.
bool fused_pays(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
                std::int64_t k) {
  if (kept_lows_pay(metric, dtype, dim, rows, columns, k)) return true;
  const bool listed = rows == columns && k <= SideLists::kMostListed;  // as queries that are as many rarely are
  const std::int64_t fewest = listed ? std::min<std::int64_t>(800 + 25 * k, 1200) : 800;
  const std::int64_t fewest_rows = std::min<std::int64_t>(144 + dim / 48, 192);
  return rows >= fewest_rows && columns >= fewest && k <= columns / 16;
}

std::int64_t fused_operand_bytes(const Metric& metric, std::int32_t dtype, std::int64_t k, const TileGrid& grid,
                                 std::int64_t dim) {
  if (keeps_lows(metric, dtype, grid, dim, k)) return kept_lows_bytes(metric, dtype, grid, dim);
  const auto with_sample = [&](std::int64_t operands, std::int64_t depth) {
    return checked_add(operands, ColumnSample::bytes(grid.columns, depth), "rows");
  };
  if (integer_filter_can_run(metric, dtype, dim))
    return with_sample(of_both_sides(grid, [dim](std::int64_t points) { return IntegerOperands::bytes(points, dim); }),
                       IntegerOperands::groups(dim));
  // Whether the fastest type serves the data shows only when they are looked at; else it is fp32.
  const auto of_type = [&](OperandType t) {
    return with_sample(
        of_both_sides(grid, [dim, t](std::int64_t points) { return FilterOperands::bytes(points, dim, t); }),
        FilterOperands::depth(dim, t));
  };
  return std::max(of_type(fastest_arithmetic(dim).type), of_type(OperandType::fp32));
}

std::int64_t fused_workspace_bytes(const Metric& metric, std::int32_t dtype, const Selector*, std::int64_t k,
                                   const TileGrid& grid, std::int64_t dim) {
  if (keeps_lows(metric, dtype, grid, dim, k)) return kept_lows_workspace_bytes(grid, dim);
  return FusedWorker::bytes(grid.tile_rows, grid.tile_cols, dim) +
         (integer_filter_can_run(metric, dtype, dim) ? integer_filter_bytes(grid.tile_rows, grid.tile_cols)
                                                     : product_filter_bytes(grid.tile_rows, grid.tile_cols));
}

CpuCounts run_fused(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor) {
  const std::int32_t dtype = problem.rows.dtype() == problem.columns.dtype() ? problem.columns.dtype() : 0;
  if (keeps_lows(problem.metric, dtype, problem.grid, problem.rows.dim(), lists.k()))
    return run_with_kept_lows(problem, lists, budget, monitor);
  const std::unique_ptr<TileFilter> filter = integer_filter_can_run(problem.metric, dtype, problem.rows.dim())
                                                 ? make_integer_filter(problem, budget, monitor)
                                                 : make_product_filter(problem, lists.k(), budget, monitor);
  return run_fused_with(problem, *filter, lists, budget, monitor);
}

CpuCounts run_fused_with(const CpuProblem& problem, const TileFilter& filter, NeighbourLists& lists, Budget* budget,
                         Monitor& monitor) {
  const TileGrid& grid = problem.grid;
  std::vector<FusedWorker> workers;
  workers.reserve(static_cast<std::size_t>(problem.team.size()));
  for (int i = 0; i < problem.team.size(); ++i) workers.emplace_back(problem, filter, budget);
  SharedLists shared(lists, grid.rows);
  seed_lists(problem, filter.sample(), workers, shared, lists, monitor);
  offer_directionless(problem, lists, monitor);
  TileQueue queue(grid);
  monitor.stage("distances", grid.pairs());
  problem.team.run([&](int member) { workers[static_cast<std::size_t>(member)].run(queue, shared, monitor); });
  monitor.check();
  CpuCounts counts;
  counts.redone = redo_lists(problem, workers, lists, monitor);
  for (const FusedWorker& worker : workers) {
    counts.keys += worker.counts().keys;
    counts.violations += worker.counts().violations;
    counts.inexact = counts.inexact || worker.counts().inexact;
  }
  return counts;
}

}  // namespace libknng
