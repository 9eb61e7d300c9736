// From the problem and the budget to tiles, threads and bytes: a pure function, without data, so that knng_estimate()
// and the build agree by construction. Knows nothing of metrics beyond the bytes they need.
#pragma once

#include <cstdint>
#include <functional>

#include "plan/tile_grid.h"

namespace libknng {

struct Problem {
  std::int64_t rows = 0;     // lists to fill
  std::int64_t columns = 0;  // candidates
  std::int64_t dim = 0;
  std::int64_t k = 0;
  bool square = true;  // rows and columns are the same points
  bool self_first = false;
  std::int64_t value_bytes = 4;        // of a reported value
  std::int64_t held_bytes = 0;         // rows that the library holds already
  std::int64_t prepared_bytes = 0;     // what prepare keeps for a point (constants, ranks)
  std::int64_t order_bytes = 0;        // the order of columns, if it is not theirs
  std::int64_t panel = 4;              // tiles are best a multiple of it
  std::int64_t block_bytes = 2 << 20;  // rows of a tile are best as large, in fp64
  double share = 1;                    // of all pairs: on how many the engine spends time, roughly
  // Working memory of one thread of the engine, for tiles of that size.
  std::function<std::int64_t(std::int64_t tile_rows, std::int64_t tile_cols)> workspace_bytes;
  // What the engine keeps for all points, with tiles of that size; empty: nothing.
  std::function<std::int64_t(std::int64_t tile_rows, std::int64_t tile_cols)> operand_bytes;
  bool one_tile = false;  // all pairs are best one tile
  // When lists are done, of rows that are looked at again: beside the graph, and of one thread.
  std::int64_t check_bytes = 0;
  std::function<std::int64_t(std::int64_t tile_rows, std::int64_t tile_cols)> check_thread_bytes;
  int threads = 1;
  bool threads_fixed = false;  // asked for: keep them even if fewer would fit better
  std::int64_t max_host_bytes = INT64_MAX;
  std::int64_t tile_rows = 0, tile_cols = 0;  // 0: free to choose
};

struct Plan {
  TileGrid grid;
  int threads = 1;
  bool brief = false;              // done before a thread that looks after it would be of help
  std::int64_t host_bytes = 0;     // peak
  std::int64_t smallest_host = 0;  // peak with the smallest tiles and the fewest threads
};

// How many threads, of as many as `allowed` says, the problem's work is worth. Nobody is asked where one will do.
int threads_worth(const Problem& problem, int (*allowed)() noexcept) noexcept;

// The peak may be above the budget: then nothing smaller was possible and smallest_host says what is needed.
Plan make_plan(const Problem& problem);

}  // namespace libknng
