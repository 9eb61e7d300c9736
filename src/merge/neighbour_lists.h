// For every row, the k smallest (key, id) seen so far, under the total order in which equal keys go to the smaller id;
// the result does not depend on the order of arrival. A short list is always in order. A longer one is a reservoir:
// entries below the cut-off are appended, and when it is full the k smallest stay (std::nth_element) and the largest of
// them is the new cut-off. That costs a few operations an entry whatever k is, where a heap pays log k. Not
// synchronised: whoever offers to a row holds that row's group (shared_lists.h). Knows nothing of keys' meaning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/buffer.h"

namespace libknng {

struct Neighbour {
  double key;
  std::int64_t id;

  friend bool operator<(const Neighbour& a, const Neighbour& b) noexcept {
    return a.key < b.key || (a.key == b.key && a.id < b.id);
  }
};

class NeighbourLists {
 public:
  // Above every pair.
  static constexpr Neighbour kNone = {std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<std::int64_t>::max()};

  // first_cutoff: no larger key may be in a list (Admission).
  NeighbourLists(std::int64_t rows, std::int64_t k, Budget* budget, double first_cutoff = kNone.key)
      : k_(k),
        capacity_(capacity(k)),
        first_{first_cutoff, kNone.id},
        entries_(checked_mul(rows, capacity_, "k"), budget),
        states_(rows, State{first_, 0, 0}, budget) {}

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

  void clear(std::int64_t row) noexcept { states_[row] = {first_, 0, 0}; }

  // Starts an empty list with a guess of its last key: larger keys are refused from the beginning. If the guess was too
  // low the list does not fill, and says so.
  void seed(std::int64_t row, double key) noexcept { states_[row] = {{key, kNone.id}, 0, 0}; }
  // Whether the list holds k pairs: only then is it that of all pairs offered.
  bool filled(std::int64_t row) const noexcept { return states_[row].count >= k_; }

  // Each (row, id) may be offered once.
  void offer(std::int64_t row, double key, std::int64_t id) noexcept {
    State& s = states_[row];
    const Neighbour pair{key, id};
    if (!(pair < s.cutoff)) {
      s.tied |= key == s.cutoff.key;
      return;
    }
    if (k_ <= kShort) return insert(s, entries_.data() + row * k_, pair);
    entries_[row * capacity_ + s.count++] = pair;
    if (s.count == capacity_ || (s.count == k_ && s.cutoff.key == first_.key)) select(row);
  }

  // The list in ascending order, with kNone in places without a pair; no offers afterwards.
  const Neighbour* sort(std::int64_t row) noexcept {
    State& s = states_[row];
    if (s.count > k_) select(row);
    Neighbour* list = entries_.data() + row * capacity_;
    while (s.count < k_) list[s.count++] = kNone;
    if (k_ > kShort) std::sort(list, list + k_);
    return list;
  }

  // After sort(): whether a pair that was left out has the key of the list's last entry.
  bool tied(std::int64_t row) const noexcept { return states_[row].tied != 0; }

 private:
  struct State {
    Neighbour cutoff;
    std::int32_t tied;
    std::int32_t count;
  };

  // Up to here an entry is put in its place sooner than a selection's share of it is paid.
  static constexpr std::int64_t kShort = 32;

  // Behind the k entries of a long list: enough to spread the cost of a selection, little enough for a fresh cut-off.
  static std::int64_t capacity(std::int64_t k) {
    return k <= kShort ? k : checked_add(k, std::clamp<std::int64_t>(k / 2, 8, 4096), "k");
  }

  // Puts a pair below the cut-off in its place; the last of k makes room.
  void insert(State& s, Neighbour* list, const Neighbour& pair) noexcept {
    const bool full = s.count == k_;
    const Neighbour dropped = full ? list[k_ - 1] : kNone;
    std::int64_t at = full ? k_ - 1 : s.count++;
    for (; at > 0 && pair < list[at - 1]; --at) list[at] = list[at - 1];
    list[at] = pair;
    if (s.count < k_) return;
    s.cutoff = list[k_ - 1];
    // What was left out before is not below the entry that makes room.
    s.tied = full && dropped.key == s.cutoff.key;
  }

  // Keeps the k smallest.
  void select(std::int64_t row) noexcept {
    State& s = states_[row];
    Neighbour* list = entries_.data() + row * capacity_;
    std::nth_element(list, list + (k_ - 1), list + s.count);
    const Neighbour last = list[k_ - 1];
    // What was left out before is not below the old cut-off: it ties with the new one only if the key has not fallen.
    if (last.key != s.cutoff.key) s.tied = 0;
    for (std::int64_t i = k_; i < s.count; ++i) s.tied |= list[i].key == last.key;
    s.cutoff = last;
    s.count = static_cast<std::int32_t>(k_);
  }

  std::int64_t k_;
  std::int64_t capacity_;
  Neighbour first_;  // cut-off of a list that is not full
  Buffer<Neighbour> entries_;
  Buffer<State> states_;
};

}  // namespace libknng
