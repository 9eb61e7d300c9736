#include "backend/cpu/tiled_engine.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/directionless.h"
#include "backend/cpu/tile_lows.h"
#include "merge/shared_lists.h"
#include "prepare/low_operands.h"
#include "select/selector.h"

namespace libknng {
namespace {

// One thread's walk through tiles. As the selector's sink it evaluates candidates and offers them to the line's list.
// What was not selected is either above the line's cut-off, and so are its keys, or comes after k candidates whose keys
// have become the cut-off: as long as that one is not below the last of them the selector brings the next.
class TiledWorker final : public Sink {
 public:
  TiledWorker(const CpuProblem& problem, const TileLows& lows, std::int64_t k, Budget* budget)
      : problem_(problem),
        lows_(lows),
        k_(k),
        pair_(direct_tiles().front()->pair[static_cast<int>(problem.metric.term)]),
        space_(problem.grid.tile_rows, problem.grid.tile_cols, problem.rows.dim(), budget),
        low_(TileLows::size(problem.grid.tile_rows, problem.grid.tile_cols), budget),
        cutoffs_(std::max(problem.grid.tile_rows, problem.grid.tile_cols), budget),
        cuts_(problem.grid.tile_rows + problem.grid.tile_cols, budget),
        keys_(std::max(problem.grid.tile_rows, problem.grid.tile_cols), budget),
        row_(problem.rows.dim(), budget),
        column_(problem.rows.dim(), budget),
        selecting_(selector_bytes(*problem.selector, problem.grid.tile_rows, problem.grid.tile_cols), budget) {}

  static std::int64_t bytes(const Selector& selector, std::int64_t tile_rows, std::int64_t tile_cols,
                            std::int64_t dim) {
    const std::int64_t longest = std::max(tile_rows, tile_cols);
    const std::int64_t tile = checked_add(4 * TileLows::size(tile_rows, tile_cols),
                                          selector_bytes(selector, tile_rows, tile_cols), "tile_rows");
    return DirectWorkspace::bytes(tile_rows, tile_cols, dim) + tile + 8 * longest + 4 * (tile_rows + tile_cols) +
           static_cast<std::int64_t>(sizeof(Neighbour)) * longest + 16 * dim;
  }

  void run(TileQueue& queue, SharedLists& lists, Monitor& monitor) {
    lists_ = &lists;
    while (!monitor.stopped() && queue.next(tile_)) {
      run_tile();
      monitor.advance(problem_.grid.pairs_of(tile_));
    }
  }

  float take(bool column, std::int64_t line, std::span<const Candidate> candidates) override {
    const std::int64_t point = (column ? tile_.first_column : tile_.first_row) + line;
    const std::int64_t first = column ? tile_.first_row : tile_.first_column;
    const CanonicalRows& points = column ? problem_.columns : problem_.rows;
    const CanonicalRows& others = column ? problem_.rows : problem_.columns;
    const RowAdmission admission = problem_.admission.of(points.id(point));
    points.load(point, row_.data());
    double farthest = -std::numeric_limits<double>::infinity();
    std::int64_t count = 0;
    for (const Candidate& c : candidates) {
      const std::int64_t other = first + c.place, id = others.id(other);
      if (others.directionless(other) || !admission.admits(id)) continue;
      others.load(other, column_.data());
      const double key = pair_(row_.data(), column_.data(), others.dim(), problem_.metric.p, problem_.metric.scale);
      if (!lows_.holds(column ? other : point, column ? point : other, c.low, key)) ++counts_.violations;
      farthest = std::max(farthest, key);
      keys_[count++] = {key, id};
    }
    counts_.keys += static_cast<std::int64_t>(candidates.size());
    double cutoff = 0;
    lists_->visit(point, 1, [&](NeighbourLists& lists, std::int64_t, std::int64_t) {
      for (std::int64_t c = 0; c < count; ++c) lists.offer(point, keys_[c].key, keys_[c].id);
      cutoff = lists.cutoff(point);
    });
    // A list drops what it does not need now and then only, but k keys are a cut-off at once.
    return lows_.cut(count >= k_ ? std::min(cutoff, farthest) : cutoff);
  }

  CpuCounts counts() const noexcept {
    CpuCounts counts = counts_;
    counts.keys += static_cast<std::int64_t>(lows_.keys(pairs_));
    counts.inexact = lows_.inexact();
    return counts;
  }

 private:
  static std::int64_t selector_bytes(const Selector& selector, std::int64_t tile_rows, std::int64_t tile_cols) {
    return selector.workspace_bytes(tile_rows, tile_cols, std::max(tile_rows, tile_cols), true);
  }

  void run_tile() {
    const bool square = problem_.grid.square;
    LowTile tile;
    tile.stride = TileLows::stride(problem_.grid.tile_cols);
    tile.low = lows_.write(tile_, space_, low_.data(), tile.stride);
    tile.rows = tile_.rows;
    tile.columns = tile_.columns;
    tile.row_cuts = cuts_.data();
    read_cuts(problem_.rows, tile_.first_row, tile_.rows, cuts_.data());
    if (square) {
      tile.diagonal = tile_.first_row - tile_.first_column;
      tile.column_cuts = cuts_.data() + tile_.rows;
      read_cuts(problem_.columns, tile_.first_column, tile_.columns, cuts_.data() + tile_.rows);
    }
    problem_.selector->run(tile, k_, selecting_.data(), *this);
    pairs_ += problem_.grid.pairs_of(tile_);
  }

  void read_cuts(const CanonicalRows& points, std::int64_t first, std::int64_t count, float* out) {
    lists_->visit(first, count, [&](const NeighbourLists& lists, std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) cutoffs_[i - first] = lists.cutoff(i);
    });
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = points.directionless(first + i) ? kWantsNoMore : lows_.cut(cutoffs_[i]);
  }

  const CpuProblem& problem_;
  const TileLows& lows_;
  std::int64_t k_;
  PairFunction* pair_;
  DirectWorkspace space_;
  Buffer<float> low_;
  Buffer<double> cutoffs_;  // of one side
  Buffer<float> cuts_;      // of rows, of columns
  Buffer<Neighbour> keys_;  // of candidates
  Buffer<double> row_, column_;
  Buffer<std::byte> selecting_;
  SharedLists* lists_ = nullptr;
  Tile tile_{};
  CpuCounts counts_;
  double pairs_ = 0;
};

}  // namespace

std::int64_t tiled_operand_bytes(const Metric& metric, std::int32_t, std::int64_t, const TileGrid& grid,
                                 std::int64_t dim) {
  if (!product_lows_can_run(metric, dim)) return 0;
  return of_both_sides(grid, [dim](std::int64_t points) { return LowOperands::bytes(points, dim); });
}

std::int64_t tiled_workspace_bytes(const Metric&, std::int32_t, const Selector* selector, std::int64_t,
                                   const TileGrid& grid, std::int64_t dim) {
  return TiledWorker::bytes(*selector, grid.tile_rows, grid.tile_cols, dim);
}

CpuCounts run_tiled(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor) {
  const TileGrid& grid = problem.grid;
  std::unique_ptr<TileLows> lows;
  if (product_lows_can_run(problem.metric, problem.rows.dim())) lows = make_product_lows(problem, budget, monitor);
  if (!lows) lows = make_canonical_lows(problem);
  std::vector<std::unique_ptr<TiledWorker>> workers;
  workers.reserve(static_cast<std::size_t>(problem.team.size()));
  for (int i = 0; i < problem.team.size(); ++i)
    workers.push_back(std::make_unique<TiledWorker>(problem, *lows, lists.k(), budget));
  offer_directionless(problem, lists, monitor);
  SharedLists shared(lists, grid.rows);
  TileQueue queue(grid);
  monitor.stage("distances", grid.pairs());
  problem.team.run([&](int member) { workers[static_cast<std::size_t>(member)]->run(queue, shared, monitor); });
  monitor.check();
  CpuCounts counts;
  for (const auto& worker : workers) {
    const CpuCounts c = worker->counts();
    counts.keys += c.keys;
    counts.violations += c.violations;
    counts.inexact = counts.inexact || c.inexact;
  }
  return counts;
}

}  // namespace libknng
