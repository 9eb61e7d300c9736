// Columns drawn at random, and what their keys tell of all: among a sample, a column of a certain rank is in all
// likelihood above a row's k-th nearest of all columns, and not far above it. Engines make their first cut-offs of
// this; a list that does not fill under one is made again, so nothing but time depends on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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

// The same for columns that a row has met, `seen` of all in an order that has nothing to do with distance: the rank
// among them at which a column is above the k nearest of all but for one row in 100,000, at most k. So many of the k
// are among them as the binomial distribution says; a graph's rows ask some ten times, as they meet more and more.
inline std::int64_t rank_above_seen(std::int64_t points, std::int64_t seen, std::int64_t k) {
  constexpr double kRows = 1e-5, kNothing = 1e-12;
  if (seen >= points) return k;
  const double share = static_cast<double>(seen) / static_cast<double>(points), odds = share / (1 - share);
  const auto neighbours = static_cast<double>(k);
  // Probabilities of numbers of neighbours, in proportion to that of the likeliest: fewer, as many, and more.
  const auto likeliest = std::min(static_cast<std::int64_t>((neighbours + 1) * share), k);
  double all = 1, weight = 1;
  for (auto r = static_cast<double>(likeliest); r > 0 && weight > kNothing; --r, all += weight)
    weight *= r / ((neighbours - r + 1) * odds);
  std::vector<double> more{1};
  for (auto r = static_cast<double>(likeliest); r < neighbours && more.back() > kNothing; ++r, all += more.back())
    more.push_back(more.back() * (neighbours - r) * odds / (r + 1));
  // The rank is too low if as many of the k or more are among the seen.
  double too_low = 0;
  auto rank = likeliest + static_cast<std::int64_t>(more.size());
  for (auto w = more.rbegin(); w != more.rend() && too_low + *w <= kRows * all; ++w, --rank) too_low += *w;
  return std::clamp<std::int64_t>(rank, 1, k);
}

}  // namespace libknng
