// The parts of a tile that are searched one after the other. Knows nothing of how they are searched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/division.h"

namespace libknng::cuda {

// Pairs of rows with columns, by the numbers of both.
struct TileArea {
  std::int64_t first_row, rows, first_column, columns;
};

// A part of a tile that is searched at a time.
struct TilePart {
  TileArea area;
  bool opens;      // its lists may have no cut-offs yet
  int passes = 0;  // how often it may be multiplied, if more often than others (fused/fused_job.cuh); else 0
  // Not 0, of an area on the diagonal: two squares on its own diagonal, together in memory, and nothing else of it. The
  // first has this side, the second what is left: as much at most, and more than half of it.
  std::int64_t square = 0;

  std::int64_t columns() const { return square > 0 ? square : area.columns; }
};

// How a tile on the diagonal is cut.
struct DiagonalCut {
  std::int64_t longest;   // side of a square that is no longer cut
  std::int64_t together;  // rows of two squares that fit into memory; 0: each by itself
  int passes;             // of squares in registers; 0: they open lists in memory
  std::int64_t window;    // squares begin at multiples of it where there are several, else of `grain`
  std::int64_t grain;
};

// Halves on the diagonal, then what lies between them: every pair of points of the area comes once, every point with
// itself as well.
inline void split_diagonal(const TileArea& area, const DiagonalCut& cut, std::vector<TilePart>& parts) {
  if (area.rows <= cut.longest) {
    parts.push_back({.area = area, .opens = cut.passes == 0, .passes = cut.passes});
    return;
  }
  const std::int64_t grain = area.rows > 2 * cut.window ? cut.window : cut.grain;
  const std::int64_t half = round_up(ceil_div(area.rows, 2), grain), rest = area.rows - half;
  const auto first = area.first_row;
  if (half <= cut.longest && area.rows <= cut.together && rest > half / 2) {
    parts.push_back({.area = area, .opens = true, .square = half});
  } else {
    split_diagonal({first, half, first, half}, cut, parts);
    split_diagonal({first + half, rest, first + half, rest}, cut, parts);
  }
  parts.push_back({{first, half, first + half, rest}, false});
}

}  // namespace libknng::cuda
