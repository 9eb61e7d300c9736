#include "plan/device_plan.h"

#include <algorithm>
#include <cmath>

#include "core/checked.h"

namespace libknng {
namespace {

// Products of a tile cost as much as writing them; fewer, larger tiles mean fewer launches and fewer merges.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 28;
constexpr std::int64_t kLongestSide = std::int64_t{1} << 18;
constexpr std::int64_t kGrain = 128;  // sides are multiples of it
constexpr std::int64_t kTilesPerDevice = 16;

std::int64_t whole_grains(std::int64_t side) { return std::max(kGrain, side / kGrain * kGrain); }

// A list keeps more than k candidates, so that a bound that cannot tell neighbours from their rivals still proves most
// rows. How many are enough is the bound's matter: rows that need more are found out and redone.
std::int64_t list_capacity(const DeviceProblem& p) {
  return std::min(round_up(checked_add(p.k, p.k / 8 + 16, "k"), 32), p.columns);
}

// Rows that are answered together lie the closer the more they are, so that calls are few: one for each device, or as
// many more as the largest call makes necessary, all alike.
DevicePlan make_row_plan(const DeviceProblem& p) {
  const auto bytes = [&](std::int64_t rows) { return p.session_bytes(rows, p.columns, 0); };
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

}  // namespace

DevicePlan make_device_plan(const DeviceProblem& p) {
  if (p.rows_at_a_time > 0) return make_row_plan(p);
  DevicePlan plan;
  plan.capacity = list_capacity(p);
  std::int64_t rows = p.tile_rows, cols = p.tile_cols;
  if (p.square) {
    // Half of (n / side)^2 tiles.
    const double side = static_cast<double>(p.rows) / std::sqrt(static_cast<double>(2 * kTilesPerDevice * p.devices));
    const auto longest = static_cast<std::int64_t>(std::sqrt(static_cast<double>(kMostPairs)));
    if (!rows) rows = std::clamp(whole_grains(static_cast<std::int64_t>(side)), 8 * kGrain, longest);
    rows = cols = std::min(rows, p.rows);
  } else {
    if (!rows) rows = std::min(whole_grains(ceil_div(p.rows, p.devices) + kGrain - 1), std::int64_t{8192});
    rows = std::min(rows, p.rows);
    if (!cols) {
      // One device takes tiles as they come; several get enough of them to end together.
      const std::int64_t wanted = p.devices > 1 ? kTilesPerDevice * p.devices : 1;
      const std::int64_t blocks = ceil_div(wanted, ceil_div(p.rows, rows));
      const std::int64_t side = std::max(round_up(ceil_div(p.columns, blocks), kGrain), 8 * kGrain);
      cols = std::clamp(whole_grains(std::min(kMostPairs / rows, side)), kGrain, kLongestSide);
    }
    cols = std::min(cols, p.columns);
  }
  const auto bytes = [&](std::int64_t r, std::int64_t c) { return p.session_bytes(r, c, plan.capacity); };
  while (bytes(rows, cols) > p.max_bytes) {
    const bool more_rows = !p.tile_rows && rows > kGrain, more_cols = !p.tile_cols && cols > kGrain;
    if (p.square && more_rows) {
      rows = cols = whole_grains(rows / 2);
    } else if (!p.square && more_cols && (cols >= rows || !more_rows)) {
      cols = whole_grains(cols / 2);
    } else if (!p.square && more_rows) {
      rows = whole_grains(rows / 2);
    } else {
      break;
    }
  }
  plan.grid = {p.rows, p.columns, rows, cols, p.square};
  plan.bytes = bytes(rows, cols);
  plan.smallest =
      bytes(p.tile_rows ? rows : std::min(kGrain, p.rows), p.tile_cols ? cols : std::min(kGrain, p.columns));
  return plan;
}

}  // namespace libknng
