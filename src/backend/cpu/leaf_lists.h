// The nearest points of the rows of a leaf while they go through a tree: one more than are wanted of each, so that the
// last shows whether the one before it is tied. A short list is always in order; a longer one is a reservoir, as those
// of merge/neighbour_lists.h. Its last pair says what may still belong, by key and by id. One thread's.
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
    std::fill_n(counts_, kTreeLeaf, 0);
    std::fill_n(last_, kTreeLeaf, Neighbour{first_cutoff, NeighbourLists::kNone.id});
  }
  // No pair that does not come before it can belong.
  const Neighbour& last(int row) const noexcept { return last_[row]; }

  void offer(int row, const Neighbour& pair) noexcept {
    if (!(pair < last_[row])) return;
    Neighbour* const list = entries_.data() + row * capacity_;
    std::int64_t& count = counts_[row];
    if (size_ > kShort) {
      list[count++] = pair;
      if (count == capacity_ || (count == size_ && last_[row].key == first_cutoff_)) select(row);
      return;
    }
    std::int64_t at = count == size_ ? size_ - 1 : count++;
    for (; at > 0 && pair < list[at - 1]; --at) list[at] = list[at - 1];
    list[at] = pair;
    if (count == size_) last_[row] = list[size_ - 1];
  }

  // Offers what was found, in order, to a row of the lists.
  void hand_over(int row, NeighbourLists& lists, std::int64_t to) noexcept {
    if (size_ > kShort && counts_[row] > size_) select(row);
    Neighbour* const list = entries_.data() + row * capacity_;
    if (size_ > kShort) std::sort(list, list + counts_[row]);
    for (std::int64_t i = 0; i < counts_[row]; ++i) lists.offer(to, list[i].key, list[i].id);
  }

 private:
  // Up to here an entry is put in its place sooner than a selection's share of it is paid.
  static constexpr std::int64_t kShort = 33;
  static std::int64_t capacity(std::int64_t size) {
    return size <= kShort ? size : checked_add(size, std::min<std::int64_t>(size / 2, 4096), "k");
  }

  void select(int row) noexcept {
    Neighbour* const list = entries_.data() + row * capacity_;
    std::nth_element(list, list + (size_ - 1), list + counts_[row]);
    last_[row] = list[size_ - 1];
    counts_[row] = size_;
  }

  std::int64_t size_, capacity_;
  Buffer<Neighbour> entries_;
  std::int64_t counts_[kTreeLeaf] = {};
  Neighbour last_[kTreeLeaf] = {};
  double first_cutoff_ = NeighbourLists::kNone.key;
};

}  // namespace libknng
