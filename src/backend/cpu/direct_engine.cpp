// The direct engine: the canonical key of every pair, tile by tile. It is the oracle that other engines are held
// against and the last rung of their ladder.
#include "backend/cpu/direct_engine.h"

#include <vector>

#include "backend/cpu/direct_worker.h"
#include "backend/cpu/listing_worker.h"

namespace libknng {
namespace {

// Worker: run(tile), made by make(member).
template <class Make>
void run_tiles(const CpuProblem& problem, Monitor& monitor, Make&& make) {
  const TileGrid& grid = problem.grid;
  TileQueue queue(grid);
  monitor.stage("distances", grid.pairs());
  problem.team.run([&](int member) {
    auto&& run = make(member);
    for (Tile t; !monitor.stopped() && queue.next(t);) {
      run(t);
      monitor.advance(grid.pairs_of(t));
    }
  });
  monitor.check();
}

}  // namespace

std::int64_t direct_workspace_bytes(const Metric&, std::int32_t, const Selector*, std::int64_t k, const TileGrid& grid,
                                    std::int64_t dim) {
  return DirectWorkspace::bytes(grid.tile_rows, grid.tile_cols, dim) +
         (ListingWorker::pays(grid, k) ? ListingWorker::bytes(grid, k) : 0);
}

CpuCounts run_direct(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor) {
  const TileGrid& grid = problem.grid;
  std::vector<DirectWorkspace> spaces;
  spaces.reserve(static_cast<std::size_t>(problem.team.size()));
  for (int i = 0; i < problem.team.size(); ++i)
    spaces.emplace_back(grid.tile_rows, grid.tile_cols, problem.rows.dim(), budget);
  SharedLists shared(lists, grid.rows);
  const auto space = [&](int member) -> DirectWorkspace& { return spaces[static_cast<std::size_t>(member)]; };
  if (ListingWorker::pays(grid, lists.k())) {
    std::vector<ListingWorker> workers;
    workers.reserve(spaces.size());
    for (int i = 0; i < problem.team.size(); ++i) workers.emplace_back(problem, lists.k(), space(i), budget);
    run_tiles(problem, monitor, [&](int member) {
      return [&, member](const Tile& t) { workers[static_cast<std::size_t>(member)].run(t, shared); };
    });
  } else {
    run_tiles(problem, monitor, [&](int member) {
      return [worker = DirectWorker(problem, false, space(member), shared)](const Tile& t) mutable { worker.run(t); };
    });
  }
  return {static_cast<std::int64_t>(grid.pairs()), 0, false};
}

}  // namespace libknng
