#include "backend/cpu/low_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/low_rows.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
constexpr int kFloats = HWY_LANES(float);
static_assert(kLowPadding % kFloats == 0);

// A number that at least k of those in some vectors are not above, few more if there are not many that are alike:
// halves what is between the smallest and the largest. +inf if not as many are finite.
template <int kVectors>
HWY_INLINE float kth_at_most(const Floats (&values)[kVectors], std::int64_t k) {
  constexpr int kHalvings = 24;
  const FloatTag d;
  const Floats infinite = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto not_above = [&](float most) {
    std::size_t count = 0;
    for (const Floats& v : values) count += hn::CountTrue(d, hn::Le(v, hn::Set(d, most)));
    return static_cast<std::int64_t>(count);
  };
  Floats least = values[0], most = hn::Neg(infinite);
  for (const Floats& v : values) {
    least = hn::Min(least, v);
    most = hn::Max(most, hn::IfThenElse(hn::Lt(v, infinite), v, most));
  }
  float low = hn::GetLane(hn::MinOfLanes(d, least)), high = hn::GetLane(hn::MaxOfLanes(d, most));
  if (k == 1) return low;
  if (not_above(high) < k) return std::numeric_limits<float>::infinity();
  for (int halving = 0; halving < kHalvings; ++halving) {
    const float middle = low + 0.5f * (high - low);
    if (!(middle > low && middle < high)) break;
    const std::int64_t count = not_above(middle);
    (count >= k ? high : low) = middle;
    if (count == k) break;
  }
  return high;
}

// Each lane keeps the kKept smallest of the numbers that come its way. The k-th smallest of all that were kept is not
// below that of the row, and is it where no lane has more than kKept of the row's k smallest.
template <int kKept>
float guess_with(const float* row, std::int64_t count, std::int64_t k) {
  const FloatTag d;
  Floats kept[kKept];
  for (int m = 0; m < kKept; ++m) kept[m] = hn::Set(d, std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < count; j += kFloats) {
    Floats value = hn::LoadU(d, row + j);
    for (int m = 0; m < kKept; ++m) {
      const Floats less = hn::Min(kept[m], value);
      value = hn::Max(kept[m], value);
      kept[m] = less;
    }
  }
  return kth_at_most<kKept>(kept, k);
}

// So many are kept that half of them would do, with vectors of any size.
float guess(const float* row, std::int64_t count, std::int64_t k) {
  constexpr auto kept_in = [](int together) { return std::max(1, together / kFloats); };
  if (k <= 2) return guess_with<kept_in(16)>(row, count, k);
  if (k <= 16) return guess_with<kept_in(32)>(row, count, k);
  if (k <= 32) return guess_with<kept_in(64)>(row, count, k);
  if (k <= 64) return guess_with<kept_in(128)>(row, count, k);
  return guess_with<kept_in(256)>(row, count, k);
}

template <bool kMore>
std::int64_t collect_above(const float* row, std::int64_t count, float least, float most, std::int32_t* places) {
  const FloatTag d;
  const Floats low = hn::Set(d, least), high = hn::Set(d, most);
  std::int64_t found = 0;
  for (std::int64_t j = 0; j < count; j += kFloats) {
    const Floats value = hn::LoadU(d, row + j);
    auto wanted = hn::Not(hn::Gt(value, high));
    if constexpr (kMore) wanted = hn::And(wanted, hn::Gt(value, low));
    if (HWY_LIKELY(hn::AllFalse(d, wanted))) continue;
    std::uint64_t bits = 0;
    hn::StoreMaskBits(d, wanted, reinterpret_cast<std::uint8_t*>(&bits));
    for (; bits != 0; bits &= bits - 1) {
      const std::int64_t place = j + std::countr_zero(bits);
      if (place < count) places[found++] = static_cast<std::int32_t>(place);
    }
  }
  return found;
}

std::int64_t collect(const float* row, std::int64_t count, float most, std::int32_t* places) {
  return collect_above<false>(row, count, 0, most, places);
}

std::int64_t collect_more(const float* row, std::int64_t count, float least, float most, std::int32_t* places) {
  return collect_above<true>(row, count, least, most, places);
}

#if HWY_TARGET == HWY_SCALAR
void mirror(const float* block, std::int64_t stride, float* mirrored) {
  for (std::int64_t i = 0; i < kLowBlock; ++i)
    for (std::int64_t j = 0; j < kLowBlock; ++j) mirrored[j * stride + i] = block[i * stride + j];
}
#else
// Four rows and columns at a time.
void mirror(const float* block, std::int64_t stride, float* mirrored) {
  const hn::Simd<float, 4, 0> d;
  const hn::Repartition<double, decltype(d)> pairs;
  using Four = hn::Vec<decltype(d)>;
  for (std::int64_t i = 0; i < kLowBlock; i += 4)
    for (std::int64_t j = 0; j < kLowBlock; j += 4) {
      const float* const from = block + i * stride + j;
      float* const to = mirrored + j * stride + i;
      const Four a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride);
      const Four c = hn::LoadU(d, from + 2 * stride), e = hn::LoadU(d, from + 3 * stride);
      const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
                 ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
      const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
                 ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), d, to);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)), d, to + stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * stride);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * stride);
    }
}
#endif

const LowRows* low_rows_here() {
  static const LowRows rows = {hwy::TargetName(HWY_TARGET), guess, collect, collect_more, mirror};
  return &rows;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const LowRows* const> low_rows() {
  static constexpr SimdVariant<const LowRows*()> kVariants[] = {KNNG_SIMD_VARIANTS(low_rows_here)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif
