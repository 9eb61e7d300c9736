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

// One row of each of `count` equal parts of [0, rows), where a hash of the part's number says.
class SpreadRows {
 public:
  SpreadRows(std::int64_t count, std::int64_t rows) noexcept : count_(count), rows_(rows) {}

  std::int64_t row_of(std::int64_t part) const noexcept {
    const auto room = static_cast<std::uint64_t>(begin(part + 1) - begin(part));
    return begin(part) + static_cast<std::int64_t>(random_bits(static_cast<std::uint64_t>(part)) % room);
  }
  // How many are below `row`.
  std::int64_t below(std::int64_t row) const noexcept {
    if (count_ == 0 || row >= rows_) return count_;
    auto part = static_cast<std::int64_t>(static_cast<__int128>(row) * count_ / rows_);
    while (begin(part + 1) <= row) ++part;
    return part + (row_of(part) < row ? 1 : 0);
  }
  // The most that any slice of so many rows has.
  std::int64_t most_in(std::int64_t slice) const noexcept {
    std::int64_t most = 0;
    if (rows_ / slice < count_) {
      for (std::int64_t first = 0; first < rows_; first += slice)
        most = std::max(most, below(first + slice) - below(first));
      return most;
    }
    for (std::int64_t part = 0, run = 0, last = -1; part < count_; ++part) {  // many slices, of which few have one
      const std::int64_t of = row_of(part) / slice;
      run = of == last ? run + 1 : 1;
      last = of;
      most = std::max(most, run);
    }
    return most;
  }
  // All, ascending.
  std::vector<std::int64_t> list() const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count_));
    for (std::int64_t part = 0; part < count_; ++part) rows[static_cast<std::size_t>(part)] = row_of(part);
    return rows;
  }

 private:
  std::int64_t begin(std::int64_t part) const noexcept {
    return static_cast<std::int64_t>(static_cast<__int128>(part) * rows_ / count_);
  }

  std::int64_t count_, rows_;
};

}  // namespace libknng
