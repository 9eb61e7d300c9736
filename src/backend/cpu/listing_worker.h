// One thread's part of the direct engine where most pairs of a tile find a place in a list at first: all keys of a
// strip of the tile are written down, and lists of its rows, in a graph of its columns too, take them side by side,
// without a branch on what they are. For short lists.
#pragma once

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/direct_workspace.h"
#include "backend/cpu/engine.h"
#include "backend/cpu/side_lists.h"
#include "merge/shared_lists.h"

namespace libknng {

class ListingWorker {
 public:
  ListingWorker(const CpuProblem& problem, std::int64_t k, DirectWorkspace& space, Budget* budget);
  // Beside the workspace.
  static std::int64_t bytes(const TileGrid& grid, std::int64_t k);
  // Whether it is faster than comparing each pair with cut-offs.
  static bool pays(const TileGrid& grid, std::int64_t k);

  void run(const Tile& t, SharedLists& lists);

 private:
  void run_strip(const Tile& t, std::int64_t first, SideLists* of_columns);
  void leave_out(const Tile& t, std::int64_t first, std::int64_t rows);
  void open(SideLists& side, std::int64_t first, std::int64_t count, SharedLists& lists);
  static void hand_over(SideLists& side, std::int64_t first, std::int64_t count, SharedLists& lists);

  const CpuProblem& problem_;
  const DirectTile& tile_;
  DirectWorkspace& space_;
  SideLists rows_, columns_;
  InsertFunction* insert_;
  Buffer<double> by_row_, by_column_;  // keys of a strip; by row only for lists of columns
  std::int64_t packed_row_block_ = -1;
};

}  // namespace libknng
