// The nearest points of the rows of a leaf while they go through a tree: one more than are wanted of each, so that the
// last shows whether the one before it is tied. Short lists lie side by side, position after position, so that vectors
// hold the same position of several rows (short_lists-inl.h puts pairs into them); long ones are as those of
// merge/neighbour_lists.h. One thread's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backend/cpu/point_tree.h"
#include "core/buffer.h"
#include "merge/neighbour_lists.h"

namespace libknng {

// Positions that short lists are compiled for.
inline constexpr int kShortLists[] = {2, 4, 6, 8, 11, 16, 24, 33};

class LeafLists {
 public:
  LeafLists(std::int64_t k, Budget* budget)
      : size_(k + 1),
        positions_(positions(k + 1)),
        capacity_(capacity(k + 1)),
        columns_(2 * positions_ * kTreeLeaf, budget),
        entries_(checked_mul(kTreeLeaf, capacity_, "k"), budget) {}

  static std::int64_t bytes(std::int64_t k) {
    return checked_mul(kTreeLeaf * static_cast<std::int64_t>(sizeof(Neighbour)), positions(k + 1) + capacity(k + 1),
                       "k");
  }

  // Of lists of so many entries; 1 if they are long.
  static int positions(std::int64_t size) {
    for (const int positions : kShortLists)
      if (size <= positions) return positions;
    return 1;
  }

  bool are_short() const noexcept { return capacity_ == 0; }
  // As the leaf before met some.
  bool expects_equal_keys = false;
  // Of short lists: keys of all rows at a position, and their ids. Of long ones there is one position: the last.
  int positions() const noexcept { return positions_; }
  double* keys(std::int64_t position) noexcept { return columns_.data() + position * kTreeLeaf; }
  double* ids(std::int64_t position) noexcept { return keys(positions_ + position); }
  // By row: no pair that does not come before it can belong.
  double* last_keys() noexcept { return keys(are_short() ? size_ - 1 : 0); }
  double* last_ids() noexcept { return ids(are_short() ? size_ - 1 : 0); }

  // Rows from `rows` on take nothing. first_cutoff: of Admission.
  void clear(double first_cutoff, int rows) noexcept {
    first_cutoff_ = first_cutoff;
    for (int p = 0; p < positions_; ++p) {
      std::fill_n(keys(p), rows, first_cutoff);
      std::fill_n(keys(p) + rows, kTreeLeaf - rows, -std::numeric_limits<double>::infinity());
      std::fill_n(ids(p), kTreeLeaf, kNoId);
    }
    std::fill_n(ordered_, kTreeLeaf, 0);
    std::fill_n(arrived_, kTreeLeaf, 0);
  }

  // To a long list.
  void offer(int row, const Neighbour& pair) noexcept {
    const double last_key = last_keys()[row], last_id = last_ids()[row];
    if (pair.key > last_key || (pair.key == last_key && static_cast<double>(pair.id) >= last_id)) return;
    entries_[row * capacity_ + size_ + arrived_[row]++] = pair;
    const bool fills = ordered_[row] + arrived_[row] == size_ && last_key == first_cutoff_;
    if (fills || size_ + arrived_[row] == capacity_) merge(row);
  }

  // Offers what was found to a row of the lists.
  void hand_over(int row, NeighbourLists& lists, std::int64_t to) noexcept {
    if (!are_short()) {
      if (arrived_[row] > 0) merge(row);
      return lists.offer_ordered(to, entries_.data() + row * capacity_, ordered_[row]);
    }
    Neighbour list[kMostShort];
    std::int64_t count = 0;
    for (; count < size_ && ids(count)[row] != kNoId; ++count)
      list[count] = {keys(count)[row], static_cast<std::int64_t>(ids(count)[row])};
    lists.offer_ordered(to, list, count);
  }

 private:
  // Behind those of points.
  static constexpr double kNoId = std::numeric_limits<double>::infinity();
  static constexpr int kMostShort = kShortLists[std::size(kShortLists) - 1];

  static std::int64_t capacity(std::int64_t size) {
    return size <= kMostShort ? 0 : checked_add(size, room_for_arrivals(size), "k");
  }

  void merge(int row) noexcept {
    Neighbour* const list = entries_.data() + row * capacity_;
    Neighbour dropped = kNoNeighbour;
    ordered_[row] = merge_arrivals(list, ordered_[row], list + size_, arrived_[row], size_, &dropped);
    arrived_[row] = 0;
    if (ordered_[row] < size_) return;
    last_keys()[row] = list[size_ - 1].key;
    last_ids()[row] = static_cast<double>(list[size_ - 1].id);
  }

  std::int64_t size_;
  int positions_;
  std::int64_t capacity_;      // of a long list: its places and room for arrivals
  Buffer<double> columns_;     // position after position: keys, then ids
  Buffer<Neighbour> entries_;  // of long lists
  std::int64_t ordered_[kTreeLeaf] = {};
  std::int64_t arrived_[kTreeLeaf] = {};
  double first_cutoff_ = kNoNeighbour.key;
};

}  // namespace libknng
