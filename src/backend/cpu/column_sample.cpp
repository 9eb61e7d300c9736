#include "backend/cpu/column_sample.h"

#include <algorithm>
#include <limits>

#include "core/checked.h"
#include "core/division.h"
#include "prepare/drawn_columns.h"

namespace libknng {
namespace {

// The sample's products are a few per cent of all, and whole panels of it are multiplied anyway.
constexpr std::int64_t kMostSampled = 512, kFewestSampled = 64, kShare = 32;

}  // namespace

std::int64_t ColumnSample::size(std::int64_t points) {
  return std::min(points, round_up(std::clamp(points / kShare, kFewestSampled, kMostSampled), kFilterPanel));
}

std::int64_t ColumnSample::bytes(std::int64_t points, std::int64_t depth) {
  const std::int64_t padded = round_up(size(points), kFilterPanel);
  return 8 * size(points) + 4 * checked_mul(padded, checked_add(depth, 1, "dim"), "dim");
}

ColumnSample::ColumnSample(std::int64_t points, std::int64_t depth, const void* panels, const void* parts,
                           Budget* budget)
    : ids_(size(points), budget),
      panels_(round_up(ids_.size(), kFilterPanel) * depth, 0, budget),
      parts_(round_up(ids_.size(), kFilterPanel), 0, budget) {
  const auto* from = static_cast<const std::uint32_t*>(panels);
  const auto* part = static_cast<const std::uint32_t*>(parts);
  for (std::int64_t s = 0; s < ids_.size(); ++s) {
    const std::int64_t j = drawn_point(points, ids_.size(), s);
    ids_[s] = j;
    parts_[s] = part[j];
    const std::uint32_t* column = from + j / kFilterPanel * kFilterPanel * depth + j % kFilterPanel;
    std::uint32_t* to = panels_.data() + s / kFilterPanel * kFilterPanel * depth + s % kFilterPanel;
    for (std::int64_t t = 0; t < depth; ++t) to[t * kFilterPanel] = column[t * kFilterPanel];
  }
}

std::int64_t SampleRanks::rank(std::int64_t points, std::int64_t size, std::int64_t k) {
  const std::int64_t rank = rank_above(points, size, k);
  return rank <= std::min(size, kMostRank) ? rank : 0;
}

void SampleRanks::start(std::int64_t rank) noexcept {
  rank_ = rank;
  std::fill(std::begin(limits_), std::end(limits_), std::numeric_limits<float>::infinity());
  std::fill(std::begin(counts_), std::end(counts_), 0);
}

std::int64_t SampleRanks::last(std::int64_t row, std::int32_t (&places)[4]) const noexcept {
  if (counts_[row] < rank_) return 0;
  const Entry* const list = entries_.data() + row * kMostRank;
  const std::int64_t count = std::min<std::int64_t>(rank_, 4);
  for (std::int64_t i = 0; i < count; ++i) places[i] = list[rank_ - count + i].place;
  return count;
}

}  // namespace libknng
