// Canonical keys, plainly: the order of operations that every engine must reproduce bit for bit (docs/internals/
// canonical-key.md). The row transforms here serve all engines; canonical_key() is the oracle and is not fast.
#pragma once

#include <cstdint>
#include <span>

#include "metric/metric.h"

namespace libknng {

// Sums run over coordinates in 32 lanes, coordinate t in lane t mod 32, and lanes fold by halves: one warp, or four
// AVX-512 or eight AVX2 registers.
inline constexpr int kCanonicalLanes = 32;

// What a row's transform needs besides the row: u = ((x - mean) scale_a scale_b) factor, or u = x / total.
struct RowConstants {
  double mean = 0;
  double scale_a = 1, scale_b = 1;  // powers of two, together 2^-e with e the exponent of the largest |x - mean|
  double factor = 1;                // 1 / norm of the scaled row; share: the row's sum; 0: the row has no direction
};

// x: the stored values (for rank_unit: the centred ranks).
RowConstants row_constants(Transform transform, std::span<const double> x) noexcept;

// Applies the transform in place: stored values (rank_unit: centred ranks) become u. Rows without direction become 0.
void apply_transform(Transform transform, const RowConstants& constants, std::span<double> x) noexcept;

// The integers 2 rank - (d + 1) of the values, average ranks among equal values, which are exact in fp64.
// order: scratch of x.size() entries.
void centred_ranks(std::span<const double> x, std::span<std::int32_t> order, std::span<std::int32_t> ranks) noexcept;

// Whether the row, as stored, has no direction under this transform.
bool has_no_direction(Transform transform, std::span<const double> x) noexcept;

// Key of two transformed rows that both have a direction; scalar, in canonical order.
double canonical_key(const Metric& metric, std::span<const double> u, std::span<const double> v) noexcept;

// Key of a pair in which a row has no direction.
inline constexpr double kNoDirectionKey = 1;

}  // namespace libknng
