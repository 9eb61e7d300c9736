// For every row, the k smallest (key, id) seen so far, under the total order in which equal keys go to the smaller id;
// the result does not depend on the order of arrival. A pair finds its place in a short list at once; a longer list
// takes pairs in bulk (ordered_list.h). Not synchronised: whoever offers to a row holds that row's group
// (shared_lists.h). Knows nothing of keys' meaning.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/buffer.h"
#include "merge/neighbour.h"
#include "merge/ordered_list.h"

namespace libknng {

class NeighbourLists {
 public:
  // first_cutoff: no larger key may be in a list (Admission).
  NeighbourLists(std::int64_t rows, std::int64_t k, Budget* budget, double first_cutoff = kNoNeighbour.key)
      : k_(k),
        capacity_(capacity(k)),
        first_{first_cutoff, kNoNeighbour.id},
        entries_(checked_mul(rows, capacity_, "k"), budget),
        states_(rows, State{first_, 0, 0, false}, budget) {}

  // Bytes that lists of this size hold.
  static std::int64_t bytes(std::int64_t rows, std::int64_t k) {
    return checked_mul(
        rows,
        checked_add(checked_mul(capacity(k), sizeof(Neighbour), "k"), static_cast<std::int64_t>(sizeof(State)), "k"),
        "k");
  }

  std::int64_t k() const noexcept { return k_; }

  // No pair with a larger key can belong. It only falls.
  double cutoff(std::int64_t row) const noexcept { return states_[row].cutoff.key; }

  void clear(std::int64_t row) noexcept { states_[row] = {first_, 0, 0, false}; }

  // Starts an empty list with a guess of its last key: larger keys are refused from the beginning. If the guess was too
  // low the list does not fill, and says so.
  void seed(std::int64_t row, double key) noexcept { states_[row] = {{key, kNoNeighbour.id}, 0, 0, false}; }
  // Whether the list holds k pairs: only then is it that of all pairs offered.
  bool filled(std::int64_t row) const noexcept { return states_[row].ordered + states_[row].arrived >= k_; }

  // Each (row, id) may be offered once.
  void offer(std::int64_t row, double key, std::int64_t id) noexcept {
    State& s = states_[row];
    const Neighbour pair{key, id};
    if (!(pair < s.cutoff)) {
      s.tied |= key == s.cutoff.key;
      return;
    }
    Neighbour* const list = entries_.data() + row * capacity_;
    if (k_ <= kShort) return insert(s, list, pair);
    list[k_ + s.arrived++] = pair;
    if (k_ + s.arrived == capacity_ || (s.ordered + s.arrived == k_ && s.cutoff.key == first_.key)) merge(s, list);
  }

  // Offers pairs in ascending order, none above the first cut-off: all that are left for the row, or the first of them,
  // k + 1 or more.
  void offer_ordered(std::int64_t row, const Neighbour* pairs, std::int64_t count) noexcept {
    State& s = states_[row];
    if (s.ordered + s.arrived > 0) {
      for (std::int64_t i = 0; i < count; ++i) offer(row, pairs[i].key, pairs[i].id);
      return;
    }
    s.ordered = static_cast<std::int32_t>(std::min(count, k_));
    std::copy_n(pairs, s.ordered, entries_.data() + row * capacity_);
    if (count < k_) return;
    s.cutoff = pairs[k_ - 1];
    s.tied = count > k_ && pairs[k_].key == s.cutoff.key;
  }

  // The list in ascending order, with kNoNeighbour in places without a pair; no offers afterwards.
  const Neighbour* sort(std::int64_t row) noexcept {
    State& s = states_[row];
    Neighbour* const list = entries_.data() + row * capacity_;
    if (s.arrived > 0) merge(s, list);
    std::fill(list + s.ordered, list + k_, kNoNeighbour);
    return list;
  }

  // After sort(): whether a pair that was left out has the key of the list's last entry.
  bool tied(std::int64_t row) const noexcept { return states_[row].tied; }

 private:
  struct State {
    Neighbour cutoff;
    std::int32_t ordered;  // pairs of the list
    std::int16_t arrived;  // behind its k places
    bool tied;
  };

  // Up to here, putting a pair in its place costs less than its share of a merge.
  static constexpr std::int64_t kShort = 32;

  static std::int64_t capacity(std::int64_t k) { return k <= kShort ? k : checked_add(k, room_for_arrivals(k), "k"); }

  // Puts a pair below the cut-off in its place; the last of k makes room.
  void insert(State& s, Neighbour* list, const Neighbour& pair) noexcept {
    const bool full = s.ordered == k_;
    const Neighbour dropped = full ? list[k_ - 1] : kNoNeighbour;
    std::int64_t at = full ? k_ - 1 : s.ordered++;
    for (; at > 0 && pair < list[at - 1]; --at) list[at] = list[at - 1];
    list[at] = pair;
    if (s.ordered < k_) return;
    s.cutoff = list[k_ - 1];
    // What was left out before is not below the entry that makes room.
    s.tied = full && dropped.key == s.cutoff.key;
  }

  void merge(State& s, Neighbour* list) noexcept {
    Neighbour dropped = kNoNeighbour;
    s.ordered = static_cast<std::int32_t>(merge_arrivals(list, s.ordered, list + k_, s.arrived, k_, &dropped));
    s.arrived = 0;
    if (s.ordered < k_) return;
    const Neighbour last = list[k_ - 1];
    // What was left out before is not below the old cut-off: it ties with the new one only if the key has not fallen.
    s.tied = (s.tied && last.key == s.cutoff.key) || dropped.key == last.key;
    s.cutoff = last;
  }

  std::int64_t k_;
  std::int64_t capacity_;
  Neighbour first_;  // cut-off of a list that is not full
  Buffer<Neighbour> entries_;
  Buffer<State> states_;
};

}  // namespace libknng
