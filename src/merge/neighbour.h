// A pair as a list has it, under the total order in which equal keys go to the smaller id.
#pragma once

#include <cstdint>
#include <limits>

namespace libknng {

struct Neighbour {
  double key;
  std::int64_t id;

  friend bool operator<(const Neighbour& a, const Neighbour& b) noexcept {
    // Without a branch: which of two pairs comes first is as good as random.
    return bool(unsigned{a.key < b.key} | (unsigned{a.key == b.key} & unsigned{a.id < b.id}));
  }
};

// Comes after every pair.
inline constexpr Neighbour kNoNeighbour = {std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<std::int64_t>::max()};

}  // namespace libknng
