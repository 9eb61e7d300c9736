// Whether rows should be compared rounded to bytes first, as a sample of them tells. A pure function.
#pragma once

#include <cmath>

#include "backend/cuda/engines/cutoff_guess.h"

namespace libknng::cuda {

// near: candidates of a row that have lows below its k-th smallest key, in the mean. What a row costs, in nanoseconds
// of an H200: what bytes save of products, in registers, of some hundred terms; each further pair that cut-offs let
// through while they fall, which is put aside, opened, stored and merged; and each further key.
inline bool rounded_bytes_pay(const knng_backend_problem& p, double near) {
  constexpr double kSavedByTerm = 9.5e-7, kOfSurvivor = 0.35, kOfTermOfKey = 0.003;
  const auto n = static_cast<double>(p.columns.count), d = static_cast<double>(p.columns.dim);
  const double times_let_through = 1 + std::log(std::max(n / static_cast<double>(opening_columns(p)), 1.0));
  const double further = near - static_cast<double>(p.k);
  return n * d * kSavedByTerm > further * (times_let_through * kOfSurvivor + d * kOfTermOfKey);
}

}  // namespace libknng::cuda
