// Rows as the direct tile reads them: panels of four rows, and in a panel the canonical lanes in the order in which the
// kernel sums them, so that it streams through memory. With vectors of N doubles the 32 canonical lanes are 32 / N
// chunks; a panel holds, chunk by chunk, block by block of 32 coordinates, N values of each of its four rows.
// Coordinates past the last are 0, which changes no sum.
#pragma once

#include <cstdint>

#include "core/division.h"
#include "metric/canonical.h"

namespace libknng {

inline constexpr std::int64_t kPanelRows = 4;

// Vectors that chunk `chunk` of a row takes.
constexpr std::int64_t chunk_blocks(std::int64_t dim, int lanes, int chunk) {
  const std::int64_t rest = dim - static_cast<std::int64_t>(chunk) * lanes;
  return rest > 0 ? ceil_div(rest, kCanonicalLanes) : 0;
}

// Doubles of a panel.
constexpr std::int64_t panel_size(std::int64_t dim, int lanes) { return kPanelRows * round_up(dim, lanes); }

}  // namespace libknng
