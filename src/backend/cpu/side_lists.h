// The nearest points of the rows, or of the columns, of a tile whose keys all are there: one more than are wanted of
// each, so that the last shows whether the one before it is tied. Lists lie side by side as the short ones of
// leaf_lists.h, so that pairs are put into several at once without a branch (short_lists-inl.h). Numbers come in
// ascending order, and of equal keys the one that came first stays before the others. One thread's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/cpu/leaf_lists.h"
#include "core/buffer.h"
#include "core/division.h"
#include "merge/neighbour_lists.h"

namespace libknng {

class SideLists {
 public:
  SideLists(std::int64_t points, std::int64_t k, Budget* budget)
      : size_(k + 1), positions_(LeafLists::positions(k + 1)), values_(values(points, k), budget) {}
  // k is at most kMostListed.
  static std::int64_t bytes(std::int64_t points, std::int64_t k) { return 8 * values(points, k); }
  static constexpr std::int64_t kMostListed = kShortLists[std::size(kShortLists) - 1] - 1;

  int positions() const noexcept { return positions_; }
  // Of the lists of some points from `point` on, a multiple of how many a vector holds: their first position.
  double* keys(std::int64_t point) noexcept {
    return values_.data() + point / kTreeLeaf * (2 * positions_ * kTreeLeaf) + point % kTreeLeaf;
  }
  double* ids(std::int64_t point) noexcept { return keys(point) + positions_ * kTreeLeaf; }
  // No larger key can belong, nor this one.
  double* last_keys(std::int64_t point) noexcept { return keys(point) + (size_ - 1) * kTreeLeaf; }

  // An empty list, for keys up to the cut-off.
  void clear(std::int64_t point, double cutoff) noexcept {
    fill(point, std::nextafter(cutoff, std::numeric_limits<double>::infinity()));
  }
  // One that takes nothing.
  void close(std::int64_t point) noexcept { fill(point, -std::numeric_limits<double>::infinity()); }

  // Offers what was found to a row of the lists.
  void hand_over(std::int64_t point, NeighbourLists& lists, std::int64_t row) noexcept {
    const double* const key = keys(point);
    const double* const id = ids(point);
    Neighbour list[kMostListed + 1];
    std::int64_t count = 0;
    for (; count < size_ && id[count * kTreeLeaf] != kNoId; ++count)
      list[count] = {key[count * kTreeLeaf], static_cast<std::int64_t>(id[count * kTreeLeaf])};
    lists.offer_ordered(row, list, count);
  }

 private:
  static constexpr double kNoId = std::numeric_limits<double>::infinity();

  static std::int64_t values(std::int64_t points, std::int64_t k) {
    return ceil_div(points, kTreeLeaf) * kTreeLeaf * 2 * LeafLists::positions(k + 1);
  }
  void fill(std::int64_t point, double key) noexcept {
    double* const keys_of = keys(point);
    double* const ids_of = ids(point);
    for (std::int64_t p = 0; p < positions_; ++p) {
      keys_of[p * kTreeLeaf] = key;
      ids_of[p * kTreeLeaf] = kNoId;
    }
  }

  std::int64_t size_;
  int positions_;
  Buffer<double> values_;
};

// The keys of a strip from one side: those of lists first_list, first_list + 1, ... with one number lie behind each
// other, and those with the next number `stride` further on. NaN is no pair.
struct ListedKeys {
  const double* keys;
  std::int64_t stride;
  std::int64_t first_list, lists;  // first_list: a multiple of kListedTogether
  std::int64_t count;              // numbers
  double first_id;                 // of number 0
  std::int64_t diagonal;           // of the strip: INT64_MIN, or columns <= row + diagonal are no pairs
  bool of_rows;                    // lists are those of rows, numbers are columns; else the other way round
};
// As many lists as any vector holds.
inline constexpr std::int64_t kListedTogether = 8;

}  // namespace libknng
