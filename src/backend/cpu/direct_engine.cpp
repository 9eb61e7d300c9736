// The direct engine: the canonical key of every pair, tile by tile. It is the oracle that other engines are held
// against and the last rung of their ladder.
#include "backend/cpu/direct_engine.h"

#include <vector>

#include "backend/cpu/direct_worker.h"

namespace libknng {

CpuCounts run_direct(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor) {
  const TileGrid& grid = problem.grid;
  std::vector<DirectWorkspace> spaces;
  spaces.reserve(static_cast<std::size_t>(problem.team.size()));
  for (int i = 0; i < problem.team.size(); ++i)
    spaces.emplace_back(grid.tile_rows, grid.tile_cols, problem.rows.dim(), budget);
  SharedLists shared(lists, grid.rows);
  TileQueue queue(grid);
  monitor.stage("distances", grid.pairs());
  problem.team.run([&](int member) {
    DirectWorker worker(problem, false, spaces[static_cast<std::size_t>(member)], shared);
    for (Tile t; !monitor.stopped() && queue.next(t);) {
      worker.run(t);
      monitor.advance(grid.pairs_of(t));
    }
  });
  monitor.check();
  return {static_cast<std::int64_t>(grid.pairs()), 0, false};
}

}  // namespace libknng
