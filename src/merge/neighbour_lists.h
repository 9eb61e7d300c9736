// For every row, the k smallest (key, id) seen so far, under the total order in which equal keys go to the smaller id;
// the result does not depend on the order of arrival. Each list is a binary heap with its largest entry, the cut-off,
// at the root. Not synchronised: whoever offers to a row holds that row's block. Knows nothing of keys' meaning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/buffer.h"

namespace libknng {

class NeighbourLists {
 public:
  static constexpr double kNoKey = std::numeric_limits<double>::infinity();
  static constexpr std::int64_t kNoId = std::numeric_limits<std::int64_t>::max();

  // Every list starts with k entries (kNoKey, kNoId), larger than any pair.
  NeighbourLists(std::int64_t rows, std::int64_t k, Budget* budget)
      : k_(k),
        keys_(checked_mul(rows, k, "k"), kNoKey, budget),
        ids_(checked_mul(rows, k, "k"), kNoId, budget),
        tied_(rows, std::uint8_t{0}, budget) {}

  // Bytes that lists of this size hold.
  static std::int64_t bytes(std::int64_t rows, std::int64_t k) {
    return checked_add(checked_mul(checked_mul(rows, k, "k"), 16, "k"), rows, "k");
  }

  std::int64_t k() const noexcept { return k_; }
  // The largest key of the list: no pair with a larger key can belong.
  double cutoff(std::int64_t row) const noexcept { return keys_[row * k_]; }

  void clear(std::int64_t row) noexcept {
    std::fill_n(keys_.data() + row * k_, k_, kNoKey);
    std::fill_n(ids_.data() + row * k_, k_, kNoId);
    tied_[row] = 0;
  }

  // Each (row, id) may be offered once.
  void offer(std::int64_t row, double key, std::int64_t id) noexcept {
    double* keys = keys_.data() + row * k_;
    std::int64_t* ids = ids_.data() + row * k_;
    if (key > keys[0]) return;
    if (key == keys[0] && id > ids[0]) {
      tied_[row] = 1;
      return;
    }
    const double displaced = keys[0];
    sift_down(keys, ids, k_, key, id);
    // What was discarded before is at least `displaced`: it ties with the new k-th key only if that has not fallen.
    // Of a list that is not full nothing was discarded.
    tied_[row] = keys[0] == displaced && displaced != kNoKey;
  }

  // Heap to ascending order, in place; no offers afterwards.
  void sort(std::int64_t row) noexcept {
    double* keys = keys_.data() + row * k_;
    std::int64_t* ids = ids_.data() + row * k_;
    for (std::int64_t last = k_ - 1; last > 0; --last) {
      const double key = keys[last];
      const std::int64_t id = ids[last];
      keys[last] = keys[0];
      ids[last] = ids[0];
      sift_down(keys, ids, last, key, id);
    }
  }

  // 1 if a pair left out has the key of the list's last entry.
  const Buffer<std::uint8_t>& tied() const noexcept { return tied_; }
  const Buffer<double>& keys() const noexcept { return keys_; }
  const Buffer<std::int64_t>& ids() const noexcept { return ids_; }
  Buffer<std::uint8_t> take_tied() noexcept { return std::move(tied_); }
  Buffer<std::int64_t> take_ids() noexcept { return std::move(ids_); }

 private:
  // Puts (key, id) at the root of a heap of `size` entries in place of what is there.
  static void sift_down(double* keys, std::int64_t* ids, std::int64_t size, double key, std::int64_t id) noexcept {
    std::int64_t hole = 0;
    for (std::int64_t child = 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && before(keys[child], ids[child], keys[child + 1], ids[child + 1])) ++child;
      if (!before(key, id, keys[child], ids[child])) break;
      keys[hole] = keys[child];
      ids[hole] = ids[child];
      hole = child;
    }
    keys[hole] = key;
    ids[hole] = id;
  }
  static bool before(double key_a, std::int64_t id_a, double key_b, std::int64_t id_b) noexcept {
    return key_a < key_b || (key_a == key_b && id_a < id_b);
  }

  std::int64_t k_;
  Buffer<double> keys_;
  Buffer<std::int64_t> ids_;
  Buffer<std::uint8_t> tied_;
};

}  // namespace libknng
