// The nearest columns of a row so far, as a heap under the order (key, id) with the farthest on top. Knows nothing of
// where keys come from.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace libknng::cuda {

// A place in the order.
struct Rank {
  double key;
  std::uint32_t id;

  friend KNNG_HD inline bool operator<(const Rank& a, const Rank& b) {
    return a.key < b.key || (a.key == b.key && a.id < b.id);
  }
};

// Behind every pair with this key, and before every pair.
KNNG_HD inline Rank last_rank(double key) { return {key, 0xffffffffu}; }
KNNG_HD inline Rank no_rank() { return {-1.0, 0}; }

// `slots` entries of memory that the caller owns.
class NearestHeap {
 public:
  // first_cutoff: no larger key may be in it (Admission).
  KNNG_HD NearestHeap(double* keys, std::uint32_t* ids, std::int64_t slots, double first_cutoff)
      : keys_(keys), ids_(ids), slots_(slots), first_cutoff_(first_cutoff) {}

  KNNG_HD std::int64_t size() const { return size_; }
  KNNG_HD bool full() const { return size_ == slots_; }
  // What is not below this does not belong.
  KNNG_HD Rank cut_off() const { return full() ? at(0) : last_rank(first_cutoff_); }

  // An entry that is below cut_off(); the farthest makes room for it.
  KNNG_HD void take(Rank entry) {
    if (full())
      sink(entry);
    else
      rise(entry);
  }

 private:
  KNNG_HD Rank at(std::int64_t i) const { return {keys_[i], ids_[i]}; }
  KNNG_HD void put(std::int64_t i, Rank entry) {
    keys_[i] = entry.key;
    ids_[i] = entry.id;
  }
  KNNG_HD void rise(Rank entry) {
    std::int64_t i = size_++;
    while (i > 0) {
      const std::int64_t parent = (i - 1) / kChildren;
      const Rank above = at(parent);
      if (entry < above) break;
      put(i, above);
      i = parent;
    }
    put(i, entry);
  }
  KNNG_HD void sink(Rank entry) {
    std::int64_t i = 0;
    for (std::int64_t first = 1; first < size_; first = kChildren * i + 1) {
      double keys[kChildren];  // asked for together; ids are only looked at where keys do not tell
      for (int c = 0; c < kChildren; ++c) keys[c] = first + c < size_ ? keys_[first + c] : no_rank().key;
      std::int64_t farthest = first;
      double key = keys[0];
      for (int c = 1; c < kChildren; ++c)
        if (keys[c] > key || (keys[c] == key && ids_[first + c] > ids_[farthest])) {
          farthest = first + c;
          key = keys[c];
        }
      const Rank below{key, ids_[farthest]};
      if (below < entry) break;
      put(i, below);
      i = farthest;
    }
    put(i, entry);
  }

  static constexpr int kChildren = 8;  // of an entry: more than two, since memory answers late but to many at once
  double* keys_;
  std::uint32_t* ids_;
  std::int64_t slots_, size_ = 0;
  double first_cutoff_;
};

}  // namespace libknng::cuda
