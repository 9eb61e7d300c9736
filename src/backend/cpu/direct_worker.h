// One thread's part of the direct engine: the canonical key of every pair of a tile, kept if it may belong.
#pragma once

#include <span>

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/direct_workspace.h"
#include "backend/cpu/engine.h"
#include "merge/shared_lists.h"

namespace libknng {

class DirectWorker {
 public:
  // skip_directionless: pairs with a row without direction are somebody else's.
  DirectWorker(const CpuProblem& problem, bool skip_directionless, DirectWorkspace& space, SharedLists& lists)
      : problem_(problem),
        skip_directionless_(skip_directionless),
        tile_(*direct_tiles().front()),
        space_(space),
        lists_(lists) {}

  void run(const Tile& t);

  // The current cut-offs of some rows, which only fall: a stale one lets through too much, never too little.
  void read_cutoffs(std::int64_t first, std::int64_t count, double* out);
  // Offers pairs, given by their places in strips that start at first_row and t.first_column, to the lists of both.
  void offer(const Tile& t, std::int64_t first_row, std::span<const Survivor> survivors);

  // Canonical rows of single points, for those who evaluate few pairs of a tile: open() it, then ask by places in it. A
  // row is converted when it is first asked for; a tile's rows stay for the other tiles of their block.
  void open(const Tile& t);
  const double* row(const Tile& t, std::int32_t place) const noexcept {
    return canonical(problem_.rows, t.first_row, place, space_.loaded_rows, space_.rows);
  }
  const double* column(const Tile& t, std::int32_t place) const noexcept {
    return canonical(problem_.columns, t.first_column, place, space_.loaded_columns, space_.columns);
  }
  // Whether the pair is somebody else's, or left out.
  bool dropped(std::int64_t row, std::int64_t id) const noexcept {
    if (!problem_.admission.admits(row, id)) return true;
    return skip_directionless_ && (problem_.rows.directionless(row) || problem_.columns.directionless(id));
  }

 private:
  void run_strip(const Tile& t, std::int64_t first, std::int64_t rows);
  const double* canonical(const CanonicalRows& points, std::int64_t first, std::int32_t place,
                          Buffer<std::uint8_t>& loaded, Buffer<double>& rows) const noexcept;

  const CpuProblem& problem_;
  bool skip_directionless_;
  const DirectTile& tile_;
  DirectWorkspace& space_;
  SharedLists& lists_;
  std::int64_t packed_row_block_ = -1;  // whose rows lie in space_.rows in panels
  std::int64_t open_row_block_ = -1;    // or one by one
};

}  // namespace libknng
