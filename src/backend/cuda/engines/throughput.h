// The least speed of engines on any GPU: coordinates of pairs in a cycle of a multiprocessor. Tiles are sized by it, so
// that a stop is noticed soon; no result depends on it. Host code alone.
#pragma once

#include <cstdint>

#include "backend/seam.h"
#include "metric/terms.h"

namespace libknng::cuda {

// Instructions of a multiprocessor in a cycle, on fp32 and on fp64.
struct Throughput {
  int singles = 0, doubles = 0;
};

inline bool is_heavy(Term term) {
  bool heavy = false;
  visit_term(term, [&](auto t) { heavy = decltype(t)::kHeavy; });
  return heavy;
}

// Canonical terms on fp64, in which logarithms, powers and divisions take a hundred instructions.
inline double key_rate(const knng_backend_problem& p, std::int32_t, const Throughput& device) {
  constexpr double kOfTerm = 2, kOfHeavyTerm = 100;
  return device.doubles / (is_heavy(static_cast<Term>(p.metric.term)) ? kOfHeavyTerm : kOfTerm);
}

// Sums in single precision, by instructions as well.
inline double sum_rate(const knng_backend_problem& p, std::int32_t rung, const Throughput& device) {
  constexpr double kOfSum = 4, kOfHeavySum = 32;
  if (rung == KNNG_RUNG_FP64) return key_rate(p, rung, device);
  return device.singles / (is_heavy(static_cast<Term>(p.metric.term)) ? kOfHeavySum : kOfSum);
}

// Products of bytes that rows were rounded to, of fp16 (bytes that rows are are faster), of two pieces, of fp32.
inline double product_rate(const knng_backend_problem& p, std::int32_t rung, const Throughput& device) {
  constexpr double kHalfProducts = 256, kByteProducts = 2 * kHalfProducts, kTwoPieceProducts = kHalfProducts / 3,
                   kSingleProducts = 32;
  switch (rung) {
    case KNNG_RUNG_FP64: return key_rate(p, rung, device);
    case KNNG_RUNG_ROUNDED_BYTES: return kByteProducts;
    case KNNG_RUNG_FILTER: return kHalfProducts;
    case KNNG_RUNG_TWO_PIECE: return kTwoPieceProducts;
    default: return kSingleProducts;
  }
}

}  // namespace libknng::cuda
