// The arithmetic of the product units, for the bound (refine/low_bound.h): of fp16, and of bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "refine/bound.h"

namespace libknng::cuda {

// fp16 operands, fp32 accumulation. Derivation and sources: docs/internals/error-bound.md, "Tensor cores". |acc - a.b|
// is at most gamma max(|a|, tau) max(|b|, tau), which is at most gamma (|a|^2 + |b|^2) / 2 + gamma tau^2; the last is
// eta. Every route that a product may take stands by itself below, with what it loses of 16 terms; a chip's constant is
// the largest of the routes that it may take.
inline constexpr double kSmallestNormalHalf = 0x1p-14;  // tau: tensor cores align factors as if none were smaller

// Tensor cores that add so many terms to the accumulator at once: each term and the accumulator lose `aligned` when
// they are aligned, the sum loses 2^-23 when it is truncated, and joining the part that the group belongs to with
// another loses 2^-23 once more, rounded or truncated.
constexpr double lost_by_groups_of(int terms, double aligned) {
  return 16.0 / terms * ((terms + 1) * aligned + 0x1p-23 + 0x1p-23);
}
// A fused operation a term and an addition a join, rounded to nearest: fewer in all than terms, which are exact.
inline constexpr double kLostByFusedOperations = 16 * 0x1p-24;

// Hopper (9.0) aligns with two bits more than fp32's, in groups of 16, and in instructions of 8 terms in groups of 8.
inline constexpr double kLostOnHopper =
    std::max({lost_by_groups_of(16, 0x1p-25), lost_by_groups_of(8, 0x1p-25), kLostByFusedOperations});
// Older chips, and those that nobody has described: groups of 4 at least, no bit more than fp32's.
inline constexpr double kLostBefore = std::max(lost_by_groups_of(4, 0x1p-23), kLostByFusedOperations);
static_assert(kLostOnHopper == 17 * 0x1p-24 && kLostBefore == 56 * 0x1p-24);
static_assert((3.0 * kLargestFilterDim / 16 + 2) * kLostBefore < 1);  // in two pieces three terms a coordinate

// What the bound and the probe (refine/unit_probe.h) take a chip's tensor cores to be. A problem on several devices has
// the largest of each constant that bounds are made of, `lost` and `shortest`.
struct TensorCores {
  double lost;      // of 16 terms, relative to the points' lengths
  double shortest;  // a shorter point counts as so long
  double aligned;   // what is below it is cut off, relative to the largest addend
  int group;        // terms that are added at once, at least
};
constexpr TensorCores tensor_cores_of(int compute_major) noexcept {
  return compute_major == 9 ? TensorCores{kLostOnHopper, kSmallestNormalHalf, 0x1p-25, 8}
                            : TensorCores{kLostBefore, kSmallestNormalHalf, 0x1p-23, 4};
}

// Products of bytes are exact. Terms of rows that are rounded to bytes are rounded down to integers, each by less than
// 1, which is less than half of what a low may be off by.
inline constexpr ProductUnit kByteUnit = {0, 1};

inline ProductUnit fp16_unit(std::int64_t terms, double lost_of_16, double shortest) noexcept {
  const std::int64_t groups = (terms + 15) / 16 + 1;  // of 16 terms, and one of zeros behind the last
  const double lost = static_cast<double>(groups) * lost_of_16;
  const double gamma = lost / (1 - lost) * (1 + 0x1p-50);
  return {gamma, gamma * shortest * shortest + 0x1p-148};
}

}  // namespace libknng::cuda
