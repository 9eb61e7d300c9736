// Where lists of the fused engine get their first cut-offs: from the columns that they meet first, in a tile in memory;
// or, where more neighbours are wanted, from columns drawn at random, whose keys tell about where a row's k-th will be
// (prepare/drawn_columns.h). Pure functions of the problem.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/seam.h"
#include "prepare/drawn_columns.h"

namespace libknng::cuda {

// Columns of the tile in memory: a small part of all, and enough for a cut-off worth having.
inline std::int64_t opening_columns(const knng_backend_problem& p) {
  constexpr std::int64_t kOpeningSide = 4608, kOpeningParts = 4, kOpeningForK = 4, kGrain = 128;
  const auto up = [](std::int64_t x) { return (x + kGrain - 1) / kGrain * kGrain; };
  return std::max({std::min(up(p.tile_cols / kOpeningParts), kOpeningSide), up(kOpeningForK * p.k), kGrain});
}

struct CutoffGuess {
  std::int64_t drawn = 0;  // columns; 0: a guess is not worth while
  std::int64_t rank = 0;   // among them
};

// What a row costs, in terms of products: all of them with every drawn column, and each pair that some cut-off lets
// through, which is put aside, opened, stored and merged (H100, W2 with k from 32 to 1,000: 60,000 to 150,000 terms).
inline CutoffGuess cutoff_guess(const knng_backend_problem& p) {
  constexpr double kTermsOfSurvivor = 100000, kWorthGuessing = 0.75;
  constexpr std::int64_t kFewest = 4096, kSmallestShare = 8;
  const std::int64_t n = p.columns.count, opening = opening_columns(p);
  // Of lists that fall from `opening` columns on until `all` are met, with `rank` neighbours wanted.
  const auto survivors = [opening](std::int64_t rank, std::int64_t all) {
    const double times = static_cast<double>(all) / static_cast<double>(std::min(opening, all));
    return static_cast<double>(rank) * (1 + std::log(times));
  };
  CutoffGuess best;
  if (p.blocks_held > 0) return best;
  double least = kWorthGuessing * kTermsOfSurvivor * survivors(p.k, n);
  const std::int64_t itself = p.square || p.leave_out ? 1 : 0;  // may be among them
  for (std::int64_t drawn = kFewest; drawn <= n / kSmallestShare; drawn *= 2) {
    const std::int64_t rank = rank_above(n, drawn, p.k) + itself;
    if (rank > p.k) continue;
    const double under_guess = static_cast<double>(rank) * static_cast<double>(n) / static_cast<double>(drawn);
    const double cost = static_cast<double>(drawn) * static_cast<double>(p.columns.dim) +
                        kTermsOfSurvivor * (survivors(rank, drawn) + under_guess);
    if (cost >= least) continue;
    least = cost;
    best = {drawn, rank};
  }
  return best;
}

}  // namespace libknng::cuda
