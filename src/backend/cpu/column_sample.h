// Guesses of cut-offs. Before any tile runs, each row is filtered against a few columns that were drawn at random; the
// key of the one at a certain rank is, in all likelihood, above the row's k-th smallest key, and not far above it. A
// guess decides nothing but time: lists that do not fill under it are redone. Knows nothing of keys, bounds or lists.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "prepare/filter_panel.h"

namespace libknng {

// Columns drawn at random (the same in every run), as panels of operands of their own. All filters keep four bytes of a
// point at each step of depth, and four bytes beside its operands (a half norm, a part of the key).
class ColumnSample {
 public:
  static std::int64_t size(std::int64_t points);
  static std::int64_t bytes(std::int64_t points, std::int64_t depth);

  ColumnSample(std::int64_t points, std::int64_t depth, const void* panels, const void* parts, Budget* budget);

  std::int64_t size() const noexcept { return ids_.size(); }
  std::int64_t id(std::int64_t place) const noexcept { return ids_[place]; }
  template <class T>
  const T* panels() const noexcept {
    return static_cast<const T*>(static_cast<const void*>(panels_.data()));
  }
  template <class T>
  const T* parts() const noexcept {
    static_assert(sizeof(T) == 4);
    return reinterpret_cast<const T*>(parts_.data());
  }

 private:
  Buffer<std::int64_t> ids_;
  Buffer<std::uint32_t> panels_;
  Buffer<std::uint32_t> parts_;
};

// The smallest values of the sample for each row of a panel, of one thread.
class SampleRanks {
 public:
  struct Entry {
    float value;
    std::int32_t place;  // in the sample
  };

  explicit SampleRanks(Budget* budget) : entries_(kFilterPanel * kMostRank, budget) {}
  static std::int64_t bytes() { return kFilterPanel * kMostRank * static_cast<std::int64_t>(sizeof(Entry)); }

  // The rank among a sample of `size` at which a column is above the k nearest of `points` but for about one row in
  // 20,000; 0 if there is none.
  static std::int64_t rank(std::int64_t points, std::int64_t size, std::int64_t k);

  void start(std::int64_t rank) noexcept;
  // No larger value counts any more.
  float limit(std::int64_t row) const noexcept { return limits_[row]; }
  void add(std::int64_t row, float value, std::int64_t place) noexcept {
    Entry* const list = entries_.data() + row * kMostRank;
    const bool full = counts_[row] == rank_;
    if (full && value >= list[rank_ - 1].value) return;
    std::int64_t at = full ? rank_ - 1 : counts_[row]++;
    for (; at > 0 && value < list[at - 1].value; --at) list[at] = list[at - 1];
    list[at] = {value, static_cast<std::int32_t>(place)};
    if (counts_[row] == rank_) limits_[row] = list[rank_ - 1].value;
  }
  // Places of the last few up to the rank: their number, 0 if there were too few.
  std::int64_t last(std::int64_t row, std::int32_t (&places)[4]) const noexcept;

 private:
  static constexpr std::int64_t kMostRank = 160;

  Buffer<Entry> entries_;  // of each row in ascending order
  float limits_[kFilterPanel] = {};
  std::int64_t counts_[kFilterPanel] = {};
  std::int64_t rank_ = 0;
};

}  // namespace libknng
