// Rows as the direct tile reads them: panels of four rows, and in a panel the canonical lanes in the order in which the
// kernel sums them, so that it streams through memory. With vectors of N doubles the 32 canonical lanes are 32 / N
// chunks; a panel holds, chunk by chunk, block by block of 32 coordinates, N values of each of its four rows.
// Coordinates past the last are 0, which changes no sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/checked.h"
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

// Puts the transformed row u (dim values) at place r of a panel.
template <int kLanes>
void pack_row(const double* u, std::int64_t dim, std::int64_t r, double* panel) noexcept {
  double* to = panel + r * kLanes;
  for (int chunk = 0; chunk < kCanonicalLanes / kLanes; ++chunk) {
    const std::int64_t blocks = chunk_blocks(dim, kLanes, chunk);
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t first = b * kCanonicalLanes + static_cast<std::int64_t>(chunk) * kLanes;
      const std::int64_t count = std::min<std::int64_t>(kLanes, dim - first);
      if (count == kLanes) {
        std::memcpy(to, u + first, kLanes * sizeof(double));
      } else {
        for (std::int64_t l = 0; l < kLanes; ++l) to[l] = l < count ? u[first + l] : 0.0;
      }
      to += kPanelRows * kLanes;
    }
  }
}

}  // namespace libknng
