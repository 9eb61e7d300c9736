// Rows that are stored as their metric takes them, in single precision, on their way to a filter's operands
// (operand_panels.h): straight from where they lie, many values at a time. Compiled once per SIMD target; every target
// gives the same operands. Knows nothing of metrics and bounds.
#pragma once

#include <cstdint>
#include <span>

#include "prepare/operand_panels.h"

namespace libknng {

// How a row becomes an operand: x = (u - centre) 2^exponent, in two factors, neither of which overflows.
struct Rounding {
  const double* centre;  // or nullptr
  double scale_a, scale_b;
  OperandType type;
};

struct FloatRows {
  const char* target;
  // The median of `count` rows in each coordinate; 0 < count <= kMostInMedian.
  void (*median)(const float* const* rows, std::int64_t count, std::int64_t dim, double* median);
  // The largest |u - centre| of a row.
  double (*farthest)(const float* u, const double* centre, std::int64_t dim);
  // kRoundedTogether rows, of which nullptr stands for one of zeros, to points of a panel from `panel` on in single
  // precision, with the sums of each.
  void (*round)(const Rounding& to, const float* const* rows, std::int64_t dim, float* panel, RoundingSums* sums);
};

inline constexpr std::int64_t kMostInMedian = 15, kRoundedTogether = 16;

// Those compiled that run here, best first; never empty.
std::span<const FloatRows* const> float_rows();

}  // namespace libknng
