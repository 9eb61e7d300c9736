#include "prepare/cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace libknng {

// Points of a cell are about as far from one another as the cell is from the next, r: from their mean r / sqrt(2), and
// their mean is as far from it. Neighbours are no farther than r.
double far_share(const CellDistances& distances) {
  const std::int64_t n = distances.cells;
  if (n < 2) return 0;
  std::vector<float> nearest(static_cast<std::size_t>(n), std::numeric_limits<float>::infinity());
  for (std::int64_t a = 0; a < n; ++a)
    for (std::int64_t b = 0; b < n; ++b)
      if (b != a)
        nearest[static_cast<std::size_t>(a)] = std::min(nearest[static_cast<std::size_t>(a)], distances(a, b));
  std::vector<float> width(nearest.size());
  std::transform(nearest.begin(), nearest.end(), width.begin(), [](float r) { return std::sqrt(std::max(r, 0.0F)); });
  std::int64_t far = 0;
  for (std::int64_t a = 0; a < n; ++a) {
    const float r = width[static_cast<std::size_t>(a)];
    for (std::int64_t b = 0; b < n; ++b) {
      const float s = width[static_cast<std::size_t>(b)];
      const float apart = distances(a, b) - (r * r + s * s) / 2, needed = (r + s) * 0.7072F + std::max(r, s);
      if (b != a && apart > needed * needed) ++far;
    }
  }
  return static_cast<double>(far) / static_cast<double>(n * (n - 1));
}

std::vector<std::int32_t> nearest_chain(const CellDistances& distances) {
  std::vector<std::int32_t> left(static_cast<std::size_t>(distances.cells)), chain;
  std::iota(left.begin(), left.end(), 0);
  chain.reserve(left.size());
  for (std::size_t next = 0; !left.empty();) {
    const std::int32_t cell = left[next];
    chain.push_back(cell);
    left[next] = left.back();
    left.pop_back();
    float least = std::numeric_limits<float>::infinity();
    next = 0;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (const float d = distances(cell, left[i]); d < least) {
        least = d;
        next = i;
      }
  }
  return chain;
}

}  // namespace libknng
