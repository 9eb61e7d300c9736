#include "plan/device_plan.h"

#include <algorithm>
#include <cmath>

#include "core/checked.h"
#include "core/division.h"
#include "plan/list_places.h"

namespace libknng {
namespace {

constexpr std::int64_t kLongestSide = std::int64_t{1} << 18;
constexpr std::int64_t kQueriesTogether = 8192;
constexpr std::int64_t kGrain = 128;  // sides are multiples of it
// Large ones of this: for 16,384 rows of 295 values cuBLAS (13.0) chooses a kernel that takes 127 ms on an H100 where
// that for 16,128 takes 133.
constexpr std::int64_t kWideGrain = 1024;
constexpr std::int64_t kTilesPerDevice = 16;
// Smaller tiles than these keep a device less busy than bringing points again and again does.
constexpr std::int64_t kWorthwhileSide = 2048;
// A tile hands at most k candidates to a list, and lists are merged tile by tile: with so many times as many columns as
// a list has candidates that is little beside looking at them.
constexpr std::int64_t kColumnsOfCandidate = 16;
// Points that come block by block: beside a band of so many, a block that comes serves so many tiles that it is there
// in time.
constexpr std::int64_t kHeldForBand = 10;

struct BudgetedProblem : DeviceProblem {
  const SessionMemory& memory;

  std::int64_t session_bytes(std::int64_t of_rows, std::int64_t of_tile_rows, std::int64_t of_tile_cols,
                             std::int64_t capacity, std::int64_t blocks_held) const {
    return memory.bytes({of_rows, of_tile_rows, of_tile_cols, capacity, blocks_held});
  }
};

std::int64_t whole_grains(std::int64_t side) { return std::max(kGrain, side / kGrain * kGrain); }

// Of a list, but of those that the engine would like where all points stay on the device.
std::int64_t list_capacity(const BudgetedProblem& p) { return list_places(p.k, 0, p.columns); }

// Rows that are answered together lie the closer the more they are, so that calls are few: one for each device, or as
// many more as the largest call makes necessary, all alike.
DevicePlan make_row_plan(const BudgetedProblem& p) {
  const auto bytes = [&](std::int64_t rows) { return p.session_bytes(p.rows, rows, p.columns, 0, 0); };
  std::int64_t rows = p.tile_rows;
  if (!rows) {
    const std::int64_t parts = p.devices * ceil_div(ceil_div(p.rows, p.devices), p.rows_at_a_time);
    rows = std::min(p.rows_at_a_time, round_up(ceil_div(p.rows, parts), kGrain));
  }
  rows = std::min(rows, p.rows);
  while (!p.tile_rows && rows > kGrain && bytes(rows) > p.max_bytes) rows = whole_grains(rows / 2);
  DevicePlan plan;
  plan.grid = {p.rows, p.columns, rows, p.columns, false};
  plan.bytes = bytes(rows);
  plan.smallest = bytes(p.tile_rows ? rows : std::min({kGrain, p.rows, p.rows_at_a_time}));
  return plan;
}

struct Sides {
  std::int64_t rows, cols;
};

// The side of a square of that many pairs.
std::int64_t side_of(std::int64_t pairs) {
  return whole_grains(static_cast<std::int64_t>(std::sqrt(static_cast<double>(pairs))));
}

// No larger side, with which as many tiles are about alike. Lists of a last tile that is much smaller would have seen
// little when they meet a large one, and take from it what does not last.
std::int64_t even_side(std::int64_t points, std::int64_t side) {
  const std::int64_t share = ceil_div(points, ceil_div(points, side));
  return std::min(side, round_up(share, share >= 8 * kWideGrain ? kWideGrain : kGrain));
}

// As was asked for, or as large as pays, if there is memory for it.
Sides largest_tile(const BudgetedProblem& p) {
  std::int64_t rows = p.tile_rows, cols = p.tile_cols;
  if (p.square) {
    // Half of (n / side)^2 tiles.
    const double across = p.few_tiles_will_do ? 1 : std::sqrt(static_cast<double>(2 * kTilesPerDevice * p.devices));
    const std::int64_t rounded_up = p.rows + (p.few_tiles_will_do ? kGrain : 0);
    const double side = static_cast<double>(rounded_up) / across;
    // What is found in a small tile takes less time than its launches.
    const std::int64_t fewest = (p.devices > 1 ? 8 : 16) * kGrain;
    if (!rows)
      rows =
          even_side(p.rows, std::clamp(whole_grains(static_cast<std::int64_t>(side)), fewest, side_of(p.most_pairs)));
    rows = std::min(rows, p.rows);
    return {rows, rows};
  }
  if (!rows) rows = std::min(whole_grains(ceil_div(p.rows, p.devices) + kGrain - 1), kQueriesTogether);
  rows = std::min(rows, p.rows);
  if (!cols) {
    // One device takes tiles as they come; several get enough of them to end together.
    const std::int64_t wanted = p.devices > 1 ? kTilesPerDevice * p.devices : 1;
    const std::int64_t blocks = ceil_div(wanted, ceil_div(p.rows, rows));
    const std::int64_t side = std::max(round_up(ceil_div(p.columns, blocks), kGrain), 8 * kGrain);
    cols = std::clamp(whole_grains(std::min(p.most_pairs / rows, side)), kGrain, kLongestSide);
  }
  return {rows, std::min(cols, p.columns)};
}

// No larger than those of the first rung that are evaluated.
Sides that_ends_soon(const BudgetedProblem& p, Sides tile) {
  const TileGrid soon = in_tiles_of({p.rows, p.columns, tile.rows, tile.cols, p.square}, p.pairs_at_a_time);
  return {soon.tile_rows, soon.tile_cols};
}

// Columns of a tile that is as large as pays.
std::int64_t worthwhile_columns(const BudgetedProblem& p) {
  return std::max(kWorthwhileSide, p.square ? 0 : checked_mul(kColumnsOfCandidate, list_capacity(p), "k"));
}

// The next smaller tile; false if there is none.
bool shrink(const BudgetedProblem& p, Sides& tile) {
  const bool more_rows = !p.tile_rows && tile.rows > kGrain, more_cols = !p.tile_cols && tile.cols > kGrain;
  const bool enough_rows = tile.rows > kWorthwhileSide && tile.cols / 2 < worthwhile_columns(p);
  if (p.square && more_rows) {
    tile.rows = tile.cols = whole_grains(tile.rows / 2);
  } else if (!p.square && more_cols && !(more_rows && enough_rows) && (tile.cols >= tile.rows || !more_rows)) {
    tile.cols = whole_grains(tile.cols / 2);
  } else if (!p.square && more_rows) {
    tile.rows = whole_grains(tile.rows / 2);
  } else {
    return false;
  }
  return true;
}

DevicePlan plan_of(const BudgetedProblem& p, Sides tile, std::int64_t capacity, std::int64_t held) {
  DevicePlan plan;
  plan.grid = {p.rows, p.columns, tile.rows, tile.cols, p.square};
  plan.capacity = capacity;
  plan.blocks_held = held;
  plan.bytes = p.session_bytes(p.rows, tile.rows, tile.cols, capacity, held);
  return plan;
}

// All points on the device, beside the largest tile that fits.
DevicePlan resident_plan(const BudgetedProblem& p, Sides tile, std::int64_t capacity) {
  while (p.session_bytes(p.rows, tile.rows, tile.cols, capacity, 0) > p.max_bytes && shrink(p, tile)) {
  }
  return plan_of(p, tile, capacity, 0);
}

// The most blocks that fit, up to `most`; fewer than the fewest: not even these do.
std::int64_t blocks_that_fit(const BudgetedProblem& p, Sides tile, std::int64_t capacity, std::int64_t most) {
  const auto fit = [&](std::int64_t held) {
    const std::int64_t spare = held > p.fewest_held ? p.spare_bytes : 0;
    return p.session_bytes(p.rows, tile.rows, tile.cols, capacity, held) <= p.max_bytes - spare;
  };
  std::int64_t held = p.fewest_held - 1;
  for (std::int64_t beyond = most + 1; beyond - held > 1;) {
    const std::int64_t middle = held + (beyond - held) / 2;
    (fit(middle) ? held : beyond) = middle;
  }
  return held;
}

// All blocks of points; beside queries, which stay on the device, a block of columns is used once for all.
std::int64_t most_held(const BudgetedProblem& p, Sides tile) {
  return p.square ? std::max(ceil_div(p.columns, tile.cols), p.fewest_held) : p.fewest_held;
}

// Points that come in blocks of the tile's size. Each block of columns is used by a band of row blocks while it is
// there: the higher the band, the less often points come.
DevicePlan paged_plan(const BudgetedProblem& p, Sides tile, std::int64_t capacity) {
  for (;;) {
    const std::int64_t most = most_held(p, tile), held = blocks_that_fit(p, tile, capacity, most);
    if (held >= std::min(most, kHeldForBand)) return plan_of(p, tile, capacity, held);
    Sides smaller = tile;
    if (!shrink(p, smaller)) return plan_of(p, tile, capacity, std::max(held, p.fewest_held));
    tile = smaller;
  }
}

// Whether tiles are as large as pays, or as they are to be evaluated.
bool pays(const BudgetedProblem& p, Sides tile) {
  const Sides soon = that_ends_soon(p, largest_tile(p));
  // Where few tiles will do the next smaller ones are halves.
  const std::int64_t half = p.few_tiles_will_do ? whole_grains(soon.cols / 2) : soon.cols;
  return tile.cols >= std::min({kWorthwhileSide, soon.cols, half});
}

// The least that a plan with all lists takes. Smaller tiles do not always take less: of more blocks more is kept.
std::int64_t smallest_bytes(const BudgetedProblem& p, std::int64_t capacity) {
  const Sides largest = largest_tile(p);
  Sides tile = largest;
  const auto bytes = [&](std::int64_t held) { return p.session_bytes(p.rows, tile.rows, tile.cols, capacity, held); };
  std::int64_t least = INT64_MAX;
  do {
    least = std::min(least, bytes(0));
  } while (shrink(p, tile) && pays(p, tile));
  tile = that_ends_soon(p, largest);
  do {
    least = std::min({least, bytes(0), bytes(std::min(most_held(p, tile), kHeldForBand))});
  } while (shrink(p, tile));
  return std::min(least, bytes(p.fewest_held));
}

// The same plan with lists as long as the engine would like them, if that leaves tiles about as large.
DevicePlan with_long_lists(const BudgetedProblem& p, Sides largest, const DevicePlan& plan) {
  const std::int64_t capacity = list_places(p.k, p.candidates, p.columns);
  if (capacity == plan.capacity) return plan;
  const DevicePlan longer = resident_plan(p, largest, capacity);
  const bool fits = longer.bytes <= p.max_bytes;
  return fits && 2 * longer.grid.tile_rows >= plan.grid.tile_rows && 2 * longer.grid.tile_cols >= plan.grid.tile_cols
             ? longer
             : plan;
}

// All lists on the device at a time.
DevicePlan plan_of_all_lists(const BudgetedProblem& p, std::int64_t capacity) {
  const Sides largest = largest_tile(p), soon = that_ends_soon(p, largest);
  const auto fits = [&](const DevicePlan& plan) { return plan.bytes <= p.max_bytes; };
  const auto fits_and_pays = [&](const DevicePlan& plan) {
    return fits(plan) && pays(p, {plan.grid.tile_rows, plan.grid.tile_cols});
  };
  DevicePlan plan = resident_plan(p, largest, capacity);
  if (fits_and_pays(plan)) return with_long_lists(p, largest, plan);
  // Sides that were asked for do not shrink, but need not have more memory than is used.
  plan = resident_plan(p, soon, capacity);
  if (!fits_and_pays(plan)) {
    const auto take = [&](const DevicePlan& paged) {
      if (fits(plan) ? fits(paged) : paged.bytes < plan.bytes) plan = paged;
    };
    take(paged_plan(p, soon, capacity));
    BudgetedProblem nothing_spare = p;
    nothing_spare.spare_bytes = 0;
    if (!fits(plan)) take(paged_plan(nothing_spare, soon, capacity));
  }
  return plan;
}

BudgetedProblem of_slice(const BudgetedProblem& p, std::int64_t rows) {
  BudgetedProblem slice = p;
  slice.rows = rows;
  slice.square = false;
  slice.candidates = 0;
  return slice;
}

// The most rows, whole grains, up to `most` for which `works`, as it does for fewer; 0: it does not for `fewest`.
template <class Works>
std::int64_t most_rows(std::int64_t fewest, std::int64_t most, Works&& works) {
  if (!works(fewest)) return 0;
  std::int64_t rows = fewest / kGrain, beyond = most / kGrain + 1;
  while (beyond - rows > 1) {
    const std::int64_t middle = rows + (beyond - rows) / 2;
    (works(middle * kGrain) ? rows : beyond) = middle;
  }
  return rows * kGrain;
}

// Lists of so many rows at a time as fit, as queries of all columns. Beside fewer rows than are worth it no columns
// stay, and no tiles are large.
DevicePlan plan_in_slices(const BudgetedProblem& p, std::int64_t capacity) {
  const auto plan_of_slice = [&](std::int64_t rows) { return plan_of_all_lists(of_slice(p, rows), capacity); };
  const auto fits = [&](const DevicePlan& plan) { return plan.bytes <= p.max_bytes; };
  const auto fits_and_pays = [&](const DevicePlan& plan) {
    const BudgetedProblem slice = of_slice(p, plan.grid.rows);
    const Sides soon = that_ends_soon(slice, largest_tile(slice));
    return fits(plan) && plan.grid.tile_cols >= std::min(worthwhile_columns(slice), soon.cols);
  };
  const std::int64_t most = whole_grains(p.rows - 1), worthwhile = std::min(kQueriesTogether, most);
  std::int64_t rows = most_rows(worthwhile, most, [&](std::int64_t slice) {
    const DevicePlan plan = plan_of_slice(slice);
    return plan.blocks_held == 0 && fits_and_pays(plan);
  });
  if (rows == 0) rows = most_rows(worthwhile, most, [&](std::int64_t b) { return fits_and_pays(plan_of_slice(b)); });
  if (rows == 0) rows = most_rows(kGrain, most, [&](std::int64_t b) { return fits(plan_of_slice(b)); });
  rows = std::max(rows, kGrain);
  // All alike.
  DevicePlan plan = plan_of_slice(round_up(ceil_div(p.rows, ceil_div(p.rows, rows)), kGrain));
  if (!fits(plan)) plan = plan_of_slice(rows);
  plan.slice = plan.grid.rows;
  plan.undersized = rows < worthwhile || !pays(of_slice(p, plan.slice), {plan.grid.tile_rows, plan.grid.tile_cols});
  plan.grid.rows = p.rows;
  return plan;
}

}  // namespace

TileGrid in_tiles_of(TileGrid grid, std::int64_t pairs) {
  if (grid.tile_rows * grid.tile_cols <= pairs) return grid;
  if (grid.square) {
    grid.tile_rows = grid.tile_cols = even_side(grid.rows, std::min(grid.tile_rows, side_of(pairs)));
  } else {
    grid.tile_rows = std::min(grid.tile_rows, std::max(kQueriesTogether, side_of(pairs)));
    grid.tile_cols = std::min(grid.tile_cols, whole_grains(pairs / grid.tile_rows));
    if (grid.tile_rows * grid.tile_cols > pairs)
      grid.tile_rows = std::min(grid.tile_rows, whole_grains(pairs / grid.tile_cols));
  }
  return grid;
}

DevicePlan make_device_plan(const DeviceProblem& problem, const SessionMemory& memory) {
  const BudgetedProblem p{problem, memory};
  if (p.rows_at_a_time > 0) return make_row_plan(p);
  const std::int64_t capacity = list_capacity(p);
  DevicePlan plan = plan_of_all_lists(p, capacity);
  // All sizes of tiles are looked through for it.
  if (!p.wants_smallest && plan.bytes <= p.max_bytes) return plan;
  std::int64_t smallest = smallest_bytes(p, capacity);
  if (p.rows > kGrain) {
    smallest = std::min(smallest, smallest_bytes(of_slice(p, kGrain), capacity));
    if (plan.bytes > p.max_bytes)
      if (const DevicePlan slices = plan_in_slices(p, capacity); slices.bytes < plan.bytes) plan = slices;
  }
  plan.smallest = smallest;
  return plan;
}

}  // namespace libknng
