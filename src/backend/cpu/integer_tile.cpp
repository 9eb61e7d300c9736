// Raw intrinsics: Highway 1.0 has no byte products.
#include "backend/cpu/integer_tile.h"

#include "backend/cpu/strip_walk.h"

#ifdef __x86_64__
#include <immintrin.h>

#define KNNG_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace libknng {
namespace {

constexpr int kRows = 8, kVectors = 3, kLanes = 16;  // 24 accumulators
static_assert(kVectors * kLanes == kFilterPanel && kFilterPanel % kRows == 0);

KNNG_VNNI std::int64_t run_block(const IntegerStrip& s, std::int64_t row, std::int64_t column, IntegerSurvivor* out) {
  const std::int64_t panel_bytes = kFilterPanel * 4 * s.groups;
  const std::uint8_t* a = s.rows + row / kFilterPanel * panel_bytes + row % kFilterPanel * 4;
  const std::int8_t* b = s.columns + column / kFilterPanel * panel_bytes;
  __m512i acc[kRows][kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; ++v) acc[i][v] = _mm512_setzero_si512();
  for (std::int64_t g = 0; g < s.groups; ++g, a += kFilterPanel * 4, b += kFilterPanel * 4) {
    const __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 64), b2 = _mm512_loadu_si512(b + 128);
    for (int i = 0; i < kRows; ++i) {
      std::int32_t four;
      __builtin_memcpy(&four, a + 4 * i, sizeof four);
      const __m512i x = _mm512_set1_epi32(four);
      acc[i][0] = _mm512_dpbusd_epi32(acc[i][0], x, b0);
      acc[i][1] = _mm512_dpbusd_epi32(acc[i][1], x, b1);
      acc[i][2] = _mm512_dpbusd_epi32(acc[i][2], x, b2);
    }
  }
  const std::int64_t row_base = s.first_row / kFilterPanel * kFilterPanel;
  const std::int64_t column_base = s.first_column / kFilterPanel * kFilterPanel;
  const __mmask16 twice = s.twice ? 0xffff : 0;
  std::int64_t found = 0;
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t first = column + v * kLanes;
    const __m512i part = _mm512_loadu_si512(s.column_part + first);
    const __m512i cutoff = _mm512_loadu_si512(s.column_cutoff + (first - column_base));
    for (int i = 0; i < kRows; ++i) {
      __m512i key = _mm512_add_epi32(part, _mm512_set1_epi32(s.row_part[row + i]));
      key = _mm512_sub_epi32(key, acc[i][v]);
      key = _mm512_mask_sub_epi32(key, twice, key, acc[i][v]);
      std::uint32_t mask =
          _cvtmask16_u32(_mm512_cmple_epi32_mask(key, cutoff)) |
          _cvtmask16_u32(_mm512_cmple_epi32_mask(key, _mm512_set1_epi32(s.row_cutoff[row + i - row_base])));
      if (mask == 0) [[likely]]
        continue;
      std::int32_t keys[kLanes];
      _mm512_storeu_si512(keys, key);
      found += append_survivors(s, row + i, first, mask, keys, out + found);
    }
  }
  return found;
}

KNNG_VNNI IntegerProgress run_integer(const IntegerStrip& s, std::int64_t first_column_panel) {
  const auto block = [&s](std::int64_t row, std::int64_t panel, IntegerSurvivor* out)
                         KNNG_VNNI { return run_block(s, row, panel * kFilterPanel, out); };
  return walk_panels<IntegerProgress, kRows, kRows>(s, first_column_panel, block);
}

}  // namespace

IntegerFunction* integer_tile() {
  __builtin_cpu_init();
  const bool supported = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512vnni");
  return supported ? run_integer : nullptr;
}

}  // namespace libknng
#else
namespace libknng {

IntegerFunction* integer_tile() { return nullptr; }

}  // namespace libknng
#endif
