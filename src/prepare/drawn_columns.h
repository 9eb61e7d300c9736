// Columns drawn at random, and what their keys tell of all: among a sample, a column of a certain rank is in all
// likelihood above a row's k-th nearest of all columns, and not far above it. Engines make their first cut-offs of
// this; a list that does not fill under one is made again, so nothing but time depends on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/random_bits.h"

namespace libknng {

// The s-th of `count` points drawn at random, one of each of as many equal shares; the same in every run. 0 < count <=
// points.
constexpr std::int64_t drawn_point(std::int64_t points, std::int64_t count, std::int64_t s) noexcept {
  // The first shares are longer by one.
  const std::int64_t share = std::max<std::int64_t>(points / count, 1), longer = points % count;
  const std::int64_t first = s * share + std::min(s, longer), width = share + (s < longer ? 1 : 0);
  return first +
         static_cast<std::int64_t>(random_bits(static_cast<std::uint64_t>(s)) % static_cast<std::uint64_t>(width));
}

// The share whose point comes as the s-th of `count`, a power of two, in van der Corput's order (the bits of s the
// other way round): those that follow one another lie all over the points, however these are stored.
inline std::int64_t scattered_share(std::int64_t s, std::int64_t count) noexcept {
  std::int64_t share = 0;
  for (std::int64_t bit = 1; bit < count; bit *= 2, s /= 2) share = 2 * share + s % 2;
  return share;
}

// The rank among `drawn` of `points` at which a column is above the k nearest but for about one row in 20,000: of these
// k, about Poisson(mean) are drawn, and this many are not, but for 5 in 100,000 rows (computed for means from 0.01 to
// 100).
inline std::int64_t rank_above(std::int64_t points, std::int64_t drawn, std::int64_t k) noexcept {
  const double mean = static_cast<double>(k) * static_cast<double>(drawn) / static_cast<double>(points);
  return static_cast<std::int64_t>(std::ceil(mean + 3.7 * std::sqrt(mean) + 2));
}

}  // namespace libknng
