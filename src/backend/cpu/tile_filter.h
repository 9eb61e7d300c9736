// What the fused engine asks of a filter: to leave out the pairs of a tile that provably cannot belong and to hand over
// the others with their canonical keys. A filter is made once for all threads (its operands), and has a worker for
// each.
#pragma once

#include <algorithm>
#include <memory>

#include "backend/cpu/column_sample.h"
#include "backend/cpu/direct_worker.h"
#include "core/division.h"
#include "plan/tile_grid.h"
#include "prepare/filter_panel.h"

namespace libknng {

class TileFilterWorker {
 public:
  virtual ~TileFilterWorker() = default;
  // Offers through `lists` every pair of the tile whose key is not above the cut-off of its row or, in a square grid,
  // of its column. Cut-offs are canonical keys, finite but for points without direction, in the order of the tile's
  // points.
  virtual void run(const Tile& t, const double* row_cutoffs, const double* column_cutoffs, DirectWorker& lists) = 0;

  // The smallest products' columns of the filter's sample, for the points of one panel of rows; rows start at a panel's
  // first point. What the lists would not take is left out.
  virtual void rank_sample(std::int64_t first_row, std::int64_t count, const DirectWorker& lists,
                           SampleRanks& ranks) = 0;

  const CpuCounts& counts() const noexcept { return counts_; }

 protected:
  CpuCounts counts_;
};

class TileFilter {
 public:
  virtual ~TileFilter() = default;
  virtual std::unique_ptr<TileFilterWorker> worker(Budget* budget) const = 0;
  virtual const ColumnSample& sample() const noexcept = 0;
  // What a survivor costs, in pairs of the direct engine's tile.
  virtual std::int64_t survivor_cost() const noexcept = 0;
};

// Survivors of a call of a filter's tile: two panels of columns, all surviving.
constexpr std::int64_t filter_capacity(std::int64_t tile_rows) {
  return 2 * std::max(tile_rows, kFilterPanel) * kFilterPanel;
}
// Entries of an array by place from the start of a block's first panel.
constexpr std::int64_t panels_over(std::int64_t points) { return round_up(points, kFilterPanel) + kFilterPanel; }

}  // namespace libknng
