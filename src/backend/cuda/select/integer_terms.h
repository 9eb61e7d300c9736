// Terms of products of bytes, whose lows are list_term + element_term - 2 product in 32 bits. Those of points that are
// bytes are from 0 to their largest square. Those of rows rounded to bytes (engines/operands.cuh) may be negative, and
// two stand for more than a number.
#pragma once

#include <cstdint>

namespace libknng::cuda {

// Of a point without direction, and of a place without a point. Such pairs may be candidates of lists that have room
// for all; refinement leaves them out.
inline constexpr std::int32_t kNoIntegerTerm = 900'000'000;
// Of a point of whose keys nothing is known: no low is above 0, and no key below it.
inline constexpr std::int32_t kUnknownIntegerTerm = -400'000'000;
// Other terms, and products twice, have magnitudes up to this.
inline constexpr std::int32_t kLargestRoundedTerm = 198'200'000;
static_assert(kUnknownIntegerTerm + 2 * kLargestRoundedTerm <= 0);
static_assert(2LL * kNoIntegerTerm + kLargestRoundedTerm < 1LL << 31);

}  // namespace libknng::cuda
