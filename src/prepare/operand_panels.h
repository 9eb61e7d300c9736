// Points as a filter multiplies them: canonical rows minus a centre, scaled by a power of two, rounded to single
// precision or bfloat16, in panels (filter_panel.h). What bounds need to know of each rounding is measured on the way.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>

#include "core/buffer.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "prepare/canonical_rows.h"

namespace libknng {

// What both sides of a product have in common. Any centre is right; one amid the points makes small operands.
struct FilterFrame {
  Buffer<double> centre;  // dim values
  int exponent = 0;       // operands are scaled by 2^exponent

  // The median of some rows (0 for inner products, which do not survive a shift), and the scale at which the largest
  // difference from it, on either side, is about 1.
  static FilterFrame of(const Metric& metric, const CanonicalRows& rows, const CanonicalRows& queries, ThreadTeam& team,
                        Budget* budget, Monitor& monitor);
};

enum class OperandType { fp32, bf16 };

// To bfloat16, of which denormals become 0. By way of float: a second rounding is one more that is measured.
inline float rounded_to_bf16(double x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  return (rounded & 0x7f800000) == 0 ? 0.0f : std::bit_cast<float>(rounded);
}

// Sums over a point's coordinates in fp64: x = 2^exponent (u - centre), a = x rounded to the operands' type.
struct RoundingSums {
  double square = 0;    // of a^2
  double residual = 0;  // of (x - a)^2
  double row = 0;       // of x^2
};

// Makes the operand of each point, a[0 .. dim), and calls store(point, a, sums) from any member of
// the team; points that share a panel go to the same one.
void round_points(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame, OperandType type,
                  ThreadTeam& team, Budget* budget, Monitor& monitor,
                  const std::function<void(std::int64_t point, const double* a, const RoundingSums& sums)>& store);

// The panels of all points in fp32; points past the last are 0. note(point, sums) is called once for each point, by any
// member of the team.
Buffer<float> operand_panels(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame,
                             ThreadTeam& team, Budget* budget, Monitor& monitor,
                             const std::function<void(std::int64_t point, const RoundingSums& sums)>& note);
// Its bytes, with what it needs while it runs.
std::int64_t operand_panel_bytes(std::int64_t rows, std::int64_t dim);

}  // namespace libknng
