// The nearest points of the rows of a leaf while they go through a tree: one more than are wanted of each, so that the
// last shows whether the one before it is tied. Lists are as those of merge/neighbour_lists.h. The last pair says what
// may still belong, by key and by id. One thread's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backend/cpu/point_tree.h"
#include "core/buffer.h"
#include "merge/neighbour_lists.h"

namespace libknng {

class LeafLists {
 public:
  LeafLists(std::int64_t k, Budget* budget)
      : size_(k + 1), capacity_(capacity(k + 1)), entries_(checked_mul(kTreeLeaf, capacity_, "k"), budget) {}

  static std::int64_t bytes(std::int64_t k) {
    return checked_mul(kTreeLeaf * static_cast<std::int64_t>(sizeof(Neighbour)), capacity(k + 1), "k");
  }

  // first_cutoff: of Admission.
  void clear(double first_cutoff) noexcept {
    first_cutoff_ = first_cutoff;
    std::fill_n(ordered_, kTreeLeaf, 0);
    std::fill_n(arrived_, kTreeLeaf, 0);
    std::fill_n(last_, kTreeLeaf, Neighbour{first_cutoff, kNoNeighbour.id});
  }
  // No pair that does not come before it can belong.
  const Neighbour& last(int row) const noexcept { return last_[row]; }

  void offer(int row, const Neighbour& pair) noexcept {
    if (!(pair < last_[row])) return;
    Neighbour* const list = entries_.data() + row * capacity_;
    std::int64_t& ordered = ordered_[row];
    if (size_ > kShort) {
      list[size_ + arrived_[row]++] = pair;
      const bool fills = ordered + arrived_[row] == size_ && last_[row].key == first_cutoff_;
      if (fills || size_ + arrived_[row] == capacity_) merge(row);
      return;
    }
    std::int64_t at = ordered == size_ ? size_ - 1 : ordered++;
    for (; at > 0 && pair < list[at - 1]; --at) list[at] = list[at - 1];
    list[at] = pair;
    if (ordered == size_) last_[row] = list[size_ - 1];
  }

  // Offers what was found to a row of the lists.
  void hand_over(int row, NeighbourLists& lists, std::int64_t to) noexcept {
    if (arrived_[row] > 0) merge(row);
    lists.offer_ordered(to, entries_.data() + row * capacity_, ordered_[row]);
  }

 private:
  // Up to here, putting a pair in its place costs less than its share of a merge.
  static constexpr std::int64_t kShort = 33;
  static std::int64_t capacity(std::int64_t size) {
    return size <= kShort ? size : checked_add(size, room_for_arrivals(size), "k");
  }

  void merge(int row) noexcept {
    Neighbour* const list = entries_.data() + row * capacity_;
    Neighbour dropped = kNoNeighbour;
    ordered_[row] = merge_arrivals(list, ordered_[row], list + size_, arrived_[row], size_, &dropped);
    arrived_[row] = 0;
    if (ordered_[row] == size_) last_[row] = list[size_ - 1];
  }

  std::int64_t size_, capacity_;
  Buffer<Neighbour> entries_;
  std::int64_t ordered_[kTreeLeaf] = {};
  std::int64_t arrived_[kTreeLeaf] = {};
  Neighbour last_[kTreeLeaf] = {};
  double first_cutoff_ = kNoNeighbour.key;
};

}  // namespace libknng
