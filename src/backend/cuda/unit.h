// The arithmetic of the product units, for the bound (refine/low_bound.h).
#pragma once

#include <cstdint>

#include "refine/bound.h"

namespace libknng::cuda {

// fp16 operands, fp32 accumulation on tensor cores. Products are exact. The unit adds a group of them to the
// accumulator at once: all addends are aligned to the one whose factors' exponents add up to most, and truncated, and
// so is the sum. A denormal factor, or 0, has the exponent of the smallest normal number (gpu.product found it so on an
// H200), so each addend and each group lose at most a unit in the last place of a product, whose size is at most
//
//   L = max(|a|, tau) max(|b|, tau),  tau = 2^-14,
//
// or of a partial sum, whose size is at most L and what was lost so far. Where all units together are x, E = |acc -
// a.b| is at most x (L + E), and so at most gamma L with gamma = x / (1 - x): at most gamma (|a|^2 + |b|^2) / 2 + gamma
// tau^2, which is what eta is for.
//
//   Hopper (9.0): groups of 16, two more fraction bits than fp32 in the alignment. For every 16 terms 17 addends lose
//   2^-25 and the sum 2^-23, together 10.5 x 2^-24; with instructions of 8 terms 13 x 2^-24. Tiles of a few rows may
//   not go through tensor cores, but through one fused operation a term, which loses 2^-24: 16 x 2^-24.
//   Older and unknown chips: groups of 4 at least, no extra bits. For every 4 terms 5 addends and the sum lose 2^-23,
//   for every 16 together 48 x 2^-24.
// (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021;
// Khattak, Mikaitis, "Accurate models of NVIDIA tensor cores", 2025.) Parts of a long product that are summed apart and
// joined in fp32 lose less: their joins round to nearest. A group's zeros lose nothing, but a last group is whole.
inline constexpr double kSmallestNormalHalf = 0x1p-14;
inline constexpr double kLostOnHopper = 16 * 0x1p-24, kLostBefore = 48 * 0x1p-24;  // for every 16 terms
static_assert((3 * kLargestFilterDim / 16 + 2) * kLostBefore < 1);                 // in two pieces three a coordinate

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

inline ProductUnit fp16_unit(std::int64_t terms, double lost_of_16, double shortest) noexcept {
  const std::int64_t groups = (terms + 15) / 16 + 1;
  const double lost = static_cast<double>(groups) * lost_of_16;
  const double gamma = lost / (1 - lost) * (1 + 0x1p-50);
  return {gamma, gamma * shortest * shortest + 0x1p-148};
}

}  // namespace libknng::cuda
