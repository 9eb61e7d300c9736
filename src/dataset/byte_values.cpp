#include "dataset/byte_values.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dataset/byte_values.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The types that byte_types_of() has for every value. rounding: so large that neighbouring numbers are 1 apart, so that
// adding it rounds a value to a whole number.
template <class T>
std::uint32_t byte_types_of_all(const T* x, std::int64_t count, T rounding) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto whole = hn::Set(d, rounding), lowest = hn::Set(d, T{-128}), highest = hn::Set(d, T{255}),
             most = hn::Set(d, T{127}), zero = hn::Zero(d);
  auto beyond = hn::Lt(zero, zero), negative = beyond, large = beyond;
  std::int64_t t = 0;
  for (; t + lanes <= count; t += lanes) {
    const auto v = hn::LoadU(d, x + t);
    const auto outside = hn::Or(hn::Lt(v, lowest), hn::Gt(v, highest));
    beyond = hn::Or(beyond, hn::Or(outside, hn::Ne(hn::Sub(hn::Add(v, whole), whole), v)));
    negative = hn::Or(negative, hn::Lt(v, zero));
    large = hn::Or(large, hn::Gt(v, most));
  }
  std::uint32_t types = hn::AllFalse(d, beyond) ? kEitherByte : kNoByteType;
  if (!hn::AllFalse(d, negative)) types &= kSignedByte;
  if (!hn::AllFalse(d, large)) types &= kUnsignedByte;
  for (; t < count; ++t) types &= byte_types_of(x[t]);
  return types;
}

std::uint32_t byte_types_of_floats_here(const float* x, std::int64_t count) {
  return byte_types_of_all(x, count, 0x1.8p23F);
}
std::uint32_t byte_types_of_doubles_here(const double* x, std::int64_t count) {
  return byte_types_of_all(x, count, 0x1.8p52);
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

ByteTypes byte_types_of_values(const float* x, std::int64_t count) noexcept {
  static constexpr SimdVariant<std::uint32_t(const float*, std::int64_t)> kVariants[] = {
      KNNG_SIMD_VARIANTS(byte_types_of_floats_here)};
  static auto* const best = best_simd_variant(kVariants);
  return static_cast<ByteTypes>(best(x, count));
}

ByteTypes byte_types_of_values(const double* x, std::int64_t count) noexcept {
  static constexpr SimdVariant<std::uint32_t(const double*, std::int64_t)> kVariants[] = {
      KNNG_SIMD_VARIANTS(byte_types_of_doubles_here)};
  static auto* const best = best_simd_variant(kVariants);
  return static_cast<ByteTypes>(best(x, count));
}

}  // namespace libknng
#endif
