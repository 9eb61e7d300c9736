// From the problem and the memory of devices to tiles and lists: a pure function, without data or device.
#pragma once

#include <cstdint>

#include "plan/tile_grid.h"

namespace libknng {

// What a session on a device is for, as far as its memory goes.
struct SessionShape {
  std::int64_t rows;  // that have lists; fewer than all: they are answered as queries
  std::int64_t tile_rows, tile_cols;
  std::int64_t capacity;     // candidates of a list
  std::int64_t blocks_held;  // of tile_cols points, at a time; 0: all points
};

// What sessions of a problem hold. Who knows it, and how, is not the planner's to know.
class SessionMemory {
 public:
  virtual ~SessionMemory() = default;
  // Of each device.
  virtual std::int64_t bytes(const SessionShape& shape) const = 0;
};

struct DeviceProblem {
  std::int64_t rows = 0;     // lists to fill
  std::int64_t columns = 0;  // candidates
  std::int64_t k = 0;
  bool square = true;                         // rows and columns are the same points
  int devices = 1;                            // that work together
  std::int64_t max_bytes = INT64_MAX;         // of each device
  std::int64_t spare_bytes = 0;               // of them, that points in blocks should leave free if they can
  std::int64_t tile_rows = 0, tile_cols = 0;  // at most; 0: free to choose; equal if square
  // Devices answer rows straight away, at most so many in a call: "tiles" of all columns. 0: they evaluate tiles.
  std::int64_t rows_at_a_time = 0;
  std::int64_t most_pairs = std::int64_t{1} << 28;  // of a tile: larger ones do not pay
  std::int64_t candidates = 0;                      // that lists should keep where there is memory for it
  bool few_tiles_will_do = false;                   // else there are more, for the sake of those on the diagonal
  std::int64_t pairs_at_a_time = INT64_MAX;         // of a tile of the first rung at most, when it is evaluated
  std::int64_t fewest_held = 1;                     // blocks of points, of those that come block by block
  bool wants_smallest = true;                       // also where a plan fits
};

struct DevicePlan {
  // Square: of square tiles, so that each is on the diagonal or beside it; but whole rows, if these are answered, and
  // not square, if there are slices.
  TileGrid grid;
  std::int64_t slice = 0;        // rows that have lists at a time, one slice after the other; 0: all
  bool undersized = false;       // slices or their tiles are smaller than pays
  std::int64_t capacity = 0;     // candidates of a list; 0 where rows are answered
  std::int64_t blocks_held = 0;  // 0: all points stay on the device; else they come block by block
  std::int64_t bytes = 0;        // of each device
  std::int64_t smallest = 0;     // with the smallest tiles, and the fewest points at a time; 0: it was not asked for
};

// The same pairs in tiles of at most so many, if devices can have such small ones: sides that are cut become multiples
// of 128.
TileGrid in_tiles_of(TileGrid grid, std::int64_t pairs);

// Bytes may be above the limit: then nothing smaller was possible and `smallest` says what is needed.
DevicePlan make_device_plan(const DeviceProblem& problem, const SessionMemory& memory);

}  // namespace libknng
