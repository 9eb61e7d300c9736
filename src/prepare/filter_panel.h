// How operands of the fused engine's filter lie in memory: in panels of 48 points, coordinate t of point i at
// [i / 48][t][i mod 48]. One panel serves as rows, whose values are broadcast, and as columns, which fill vectors:
// three of AVX-512, six of AVX2.
#pragma once

#include <cstdint>

namespace libknng {

inline constexpr std::int64_t kFilterPanel = 48;

// Coordinates of an operand in bfloat16, with zeros behind the last: what a tile multiplies at once.
constexpr std::int64_t bf16_depth(std::int64_t dim) { return (dim + 31) / 32 * 32; }
// A tile may read so many rows past the last panel.
inline constexpr std::int64_t kBf16RowsBehind = 16;

}  // namespace libknng
