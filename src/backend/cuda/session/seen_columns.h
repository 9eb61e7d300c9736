// How many columns the rows of a graph have met, each a point of it, while tiles go by. Knows nothing of what for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/division.h"

namespace libknng::cuda {

class SeenColumns {
 public:
  // None yet. Counted for so many points together, the most that one of them has met or more.
  static constexpr std::int64_t kGrain = 128;
  explicit SeenColumns(std::int64_t points) : seen_(static_cast<std::size_t>(ceil_div(points, kGrain))) {}

  // Points [first, first + count) meet so many more. Returns the most that one of them has met by then, or more.
  std::int64_t meet(std::int64_t first, std::int64_t count, std::int64_t columns) {
    const auto begin = seen_.begin() + first / kGrain, end = seen_.begin() + ceil_div(first + count, kGrain);
    for (auto at = begin; at != end; ++at) *at += columns;
    return *std::max_element(begin, end);
  }

 private:
  std::vector<std::int64_t> seen_;
};

}  // namespace libknng::cuda
