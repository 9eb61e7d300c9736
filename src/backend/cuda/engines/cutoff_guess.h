// Where lists of the fused engine get their first cut-offs: from the columns that they meet first, in a tile in memory;
// or, where more neighbours are wanted, from columns drawn at random, whose keys tell about where a row's k-th will be
// (prepare/drawn_columns.h). Pure functions of the problem.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/admission.h"
#include "backend/cuda/engines/engine.h"
#include "backend/seam.h"
#include "core/division.h"
#include "prepare/drawn_columns.h"

namespace libknng::cuda {

// Columns of the tile in memory: a small part of all, and enough for a cut-off worth having.
inline std::int64_t opening_columns(const knng_backend_problem& p) {
  constexpr std::int64_t kOpeningSide = 4608, kOpeningParts = 4, kOpeningForK = 4, kGrain = 128;
  return std::max({std::min(round_up(p.tile_cols / kOpeningParts, kGrain), kOpeningSide),
                   round_up(kOpeningForK * p.k, kGrain), kGrain});
}

struct CutoffGuess {
  std::int64_t drawn = 0;     // columns, a power of two; 0: a guess is not worth while
  std::int64_t rank = 0;      // among them
  std::int64_t capacity = 0;  // of lists of drawn columns
};

// What a row costs, in terms of products: all of them with every drawn column, and each pair that some cut-off lets
// through, which is put aside, opened, stored and merged (about 60,000 terms, from the times of W2 at k = 100 with a
// guess and without).
inline CutoffGuess cutoff_guess(const knng_backend_problem& p) {
  constexpr double kTermsOfSurvivor = 60000, kWorthGuessing = 0.85;
  constexpr std::int64_t kFewest = 4096, kSmallestShare = 8, kSpare = 16;
  const std::int64_t n = p.columns.count, opening = opening_columns(p);
  // Pairs that pass while a cut-off falls to that of `wanted` neighbours from where `times` as many lie below it.
  const auto survivors = [](std::int64_t wanted, double times) {
    return static_cast<double>(wanted) * (1 + std::log(std::max(times, 1.0)));
  };
  const auto from_opening = [&](std::int64_t wanted, std::int64_t all) {
    return survivors(wanted, static_cast<double>(all) / static_cast<double>(opening));
  };
  CutoffGuess best;
  if (is_paged(p) || !engine_of(p).guesses) return best;
  double least = kWorthGuessing * kTermsOfSurvivor * from_opening(p.k, n);
  const std::int64_t refused = admission_of(p).most_refused();  // may be among them
  for (std::int64_t drawn = kFewest; drawn <= n / kSmallestShare; drawn *= 2) {
    const std::int64_t rank = rank_above(n, drawn, p.k) + refused;
    if (rank > p.k) continue;
    const double below = static_cast<double>(rank) * static_cast<double>(n) / static_cast<double>(drawn);
    const double passing = from_opening(rank, drawn) + survivors(p.k, below / static_cast<double>(p.k));
    const double cost = static_cast<double>(drawn) * static_cast<double>(p.columns.dim) + kTermsOfSurvivor * passing;
    if (cost >= least) continue;
    least = cost;
    best = {drawn, rank, std::min(p.capacity, (2 * rank + kSpare + 15) / 16 * 16)};
  }
  return best;
}

// How many pairs of a row lie below its guess, as the rank among the drawn columns tells, and so many standard
// deviations more.
inline double below_guess(const CutoffGuess& guess, std::int64_t n, double deviations) {
  const auto rank = static_cast<double>(guess.rank);
  return (rank + deviations * std::sqrt(rank)) * static_cast<double>(n) / static_cast<double>(guess.drawn);
}

// Places that a list needs to find all that lies below its guess in as many passes as a part has (fused/fused_job.cuh),
// if all of it is in the part, in an order that has nothing to do with distance: of what is below the cut-off a pass
// leaves the share k / room.
inline constexpr int kPassesOfPart = 3;
inline std::int64_t room_under_guess(const CutoffGuess& guess, std::int64_t n, std::int64_t k) {
  constexpr double kDeviations = 6;
  const double below = below_guess(guess, n, kDeviations);
  return static_cast<std::int64_t>(
      std::ceil(std::pow(below * std::pow(static_cast<double>(k), kPassesOfPart - 1), 1.0 / kPassesOfPart)));
}

// Passes in which the lists of a square find all that lies below their guesses (fused/fused_job.cuh), each with `room`
// places, even if all of it is in the square and stored by distance to either side, as in series in time. Columns come
// from the left: a full list has those that are farthest to the left, and its cut-off falls to the k-th nearest of
// them, so that room - k fewer lie below it on either side. From room - k / 2 on either side on the nearest are among
// what it has, and a last pass finds k of them.
inline std::int64_t passes_under_guess(const CutoffGuess& guess, std::int64_t n, std::int64_t k, std::int64_t room) {
  constexpr double kDeviations = 3;
  const auto spare = static_cast<double>(room - k);
  const double beyond =
      below_guess(guess, n, kDeviations) / 2 - (static_cast<double>(room) - static_cast<double>(k) / 2);
  return 2 + static_cast<std::int64_t>(std::ceil(std::max(0.0, beyond) / spare));
}

}  // namespace libknng::cuda
