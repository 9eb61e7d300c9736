// How operands of the fused engine's filter lie in memory: in panels of 48 points, coordinate t of point i at
// [i / 48][t][i mod 48]. One panel serves as rows, whose values are broadcast, and as columns, which fill vectors:
// three of AVX-512, six of AVX2.
#pragma once

#include <cstdint>

namespace libknng {

inline constexpr std::int64_t kFilterPanel = 48;

}  // namespace libknng
