// What is done with rows of lower bounds that are written down (tile_lows.h): the smallest are found, and a block is
// mirrored, as the bound of a pair is that of both of its points. Compiled once per SIMD target. Knows nothing of keys,
// lists or ids.
#pragma once

#include <cstdint>
#include <span>

namespace libknng {

struct LowRows {
  const char* target;
  // A number that at least k of the row's `count` numbers are not above, most often few more; +inf if there are fewer
  // than k; if the row has NaN, any number. 0 < k <= kMostGuessed. Rows have room to the next multiple of kLowPadding,
  // with +inf behind their last.
  float (*guess)(const float* row, std::int64_t count, std::int64_t k);
  // The places of numbers that are not above `most`, ascending, and how many they are. NaN is above nothing. `places`
  // has the row's room.
  std::int64_t (*collect)(const float* row, std::int64_t count, float most, std::int32_t* places);
  // Of those that are above `least`, too: what collect() with `least` has left out.
  std::int64_t (*collect_more)(const float* row, std::int64_t count, float least, float most, std::int32_t* places);
  // Writes a block of kLowBlock rows and columns with rows for columns; both have that stride.
  void (*mirror)(const float* block, std::int64_t stride, float* mirrored);
};

inline constexpr std::int64_t kLowBlock = 48, kLowPadding = 16, kMostGuessed = 128;

// Those compiled that run here, best first; never empty.
std::span<const LowRows* const> low_rows();

}  // namespace libknng
