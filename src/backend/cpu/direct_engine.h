// The direct engine: the canonical key of every pair, tile by tile, kept if it may belong. It is the oracle that other
// engines are held against and the last rung of their ladder.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/direct_workspace.h"
#include "core/monitor.h"
#include "prepare/canonical_rows.h"
#include "merge/neighbour_lists.h"
#include "plan/tile_grid.h"

namespace libknng {

struct DirectProblem {
  const CanonicalRows& rows;
  const CanonicalRows& columns;  // the same object if grid.square
  const Metric& metric;
  TileGrid grid;
  const std::int64_t* leave_out = nullptr;  // queries: the id that a row must not return, -1 for none
  int threads = 1;
};

// Offers to `lists` every pair that belongs, and others. Runs on the calling thread's OpenMP team; throws
// KNNG_ERR_CANCELLED when stopped, the lists are then partial.
void run_direct(const DirectProblem& problem, const DirectTile& tile, NeighbourLists& lists, Budget* budget,
                Monitor& monitor);

}  // namespace libknng
