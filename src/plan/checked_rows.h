// Which rows a build or query looks at again: how many, from what they cost beside the whole, and which. Pure, so that
// a plan, the work and a test agree. Knows nothing of how they are looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random_bits.h"

namespace libknng {

// What is asked for: a number, or as many as cost about 1 % of the time.
inline constexpr std::int64_t kCheckedByCost = -1;
inline constexpr std::int64_t kFewestChecked = 4, kMostCheckedByCost = 1024;

// Of `rows`: so many lists are compared with all canonical keys if a whole of so many pairs with so many columns can
// leave pairs out. pairs_per_key: how many pairs are done, where they can be left out, in the time of one of these
// keys.
inline std::int64_t rows_to_check(std::int64_t asked, std::int64_t rows, double pairs, std::int64_t columns,
                                  double pairs_per_key) noexcept {
  if (asked != kCheckedByCost) return std::min(asked, rows);
  const double worth = 0.01 * pairs / pairs_per_key / static_cast<double>(columns);
  const auto count = static_cast<std::int64_t>(std::min(worth, static_cast<double>(kMostCheckedByCost)));
  return std::min(std::max(count, kFewestChecked), rows);
}

// One row of each of `count` equal parts of [0, rows), where a hash of the part's number says: ascending.
inline std::vector<std::int64_t> spread_rows(std::int64_t count, std::int64_t rows) {
  std::vector<std::int64_t> picked(static_cast<std::size_t>(count));
  const auto begin = [&](std::int64_t part) {
    return static_cast<std::int64_t>(static_cast<__int128>(part) * rows / count);
  };
  for (std::int64_t part = 0; part < count; ++part) {
    const auto room = static_cast<std::uint64_t>(begin(part + 1) - begin(part));
    picked[static_cast<std::size_t>(part)] =
        begin(part) + static_cast<std::int64_t>(random_bits(static_cast<std::uint64_t>(part)) % room);
  }
  return picked;
}

}  // namespace libknng
