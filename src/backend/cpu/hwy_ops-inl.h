// The arithmetic policy of metric/ops.h over one full vector of doubles, for the SIMD target being compiled.
//
// Every operation gives in each lane the bits of ScalarOps. Highway's MulAdd is not fused on targets without FMA, so
// there the lanes go through std::fma. The file is re-included once per target by foreach_target.h (hence the toggled
// guard). It must not know about metrics or about dispatch.
#include "core/hwy_targets.h"

#if defined(KNNG_BACKEND_CPU_HWY_OPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KNNG_BACKEND_CPU_HWY_OPS_INL_H
#undef KNNG_BACKEND_CPU_HWY_OPS_INL_H
#else
#define KNNG_BACKEND_CPU_HWY_OPS_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "metric/ops.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct SimdOps {
  using Tag = hn::ScalableTag<double>;
  using Real = hn::Vec<Tag>;
  using Mask = hn::Mask<Tag>;
  static constexpr std::size_t kLanes = HWY_LANES(double);
  static constexpr bool kFusedMultiplyAdd = HWY_NATIVE_FMA != 0;

  static HWY_INLINE Real set(double value) { return hn::Set(Tag(), value); }
  static HWY_INLINE Real load(const double* from) { return hn::LoadU(Tag(), from); }
  static HWY_INLINE void store(Real a, double* to) { hn::StoreU(a, Tag(), to); }

  static HWY_INLINE Real add(Real a, Real b) { return hn::Add(a, b); }
  static HWY_INLINE Real sub(Real a, Real b) { return hn::Sub(a, b); }
  static HWY_INLINE Real mul(Real a, Real b) { return hn::Mul(a, b); }
  static HWY_INLINE Real div(Real a, Real b) { return hn::Div(a, b); }
  static HWY_INLINE Real sqrt(Real a) { return hn::Sqrt(a); }

  // a b + c, rounded once.
  static HWY_INLINE Real fma(Real a, Real b, Real c) {
    if constexpr (kFusedMultiplyAdd) {
      return hn::MulAdd(a, b, c);
    } else {
      return fma_by_lane(a, b, c);
    }
  }

  // a b - c, rounded once.
  static HWY_INLINE Real fms(Real a, Real b, Real c) {
    if constexpr (kFusedMultiplyAdd) {
      return hn::MulSub(a, b, c);
    } else {
      return fma_by_lane(a, b, hn::Neg(c));
    }
  }

  // c - a b, rounded once.
  static HWY_INLINE Real fnma(Real a, Real b, Real c) {
    if constexpr (kFusedMultiplyAdd) {
      return hn::NegMulAdd(a, b, c);
    } else {
      return fma_by_lane(hn::Neg(a), b, c);
    }
  }

  static HWY_INLINE Real abs(Real a) { return hn::Abs(a); }

  // The second operand when they are equal or when one is NaN: MAXPD and MINPD say just that, elsewhere it is spelled.
  static HWY_INLINE Real max(Real a, Real b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    return hn::Max(a, b);
#else
    return hn::IfThenElse(hn::Lt(b, a), a, b);
#endif
  }
  static HWY_INLINE Real min(Real a, Real b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    return hn::Min(a, b);
#else
    return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
  }

  static HWY_INLINE Mask less(Real a, Real b) { return hn::Lt(a, b); }
  static HWY_INLINE Mask equal(Real a, Real b) { return hn::Eq(a, b); }
  static HWY_INLINE Mask mask_and(Mask a, Mask b) { return hn::And(a, b); }
  static HWY_INLINE Mask mask_or(Mask a, Mask b) { return hn::Or(a, b); }
  static HWY_INLINE Mask mask_not(Mask a) { return hn::Not(a); }
  static HWY_INLINE Real select(Mask mask, Real yes, Real no) { return hn::IfThenElse(mask, yes, no); }

  // As ScalarOps::split: x = result 2^exponent, sqrt(1/2) <= result < sqrt(2), for normal x > 0.
  static HWY_INLINE Real split(Real x, Real& exponent) {
    const Bits bits = hn::BitCast(BitsTag(), x);
    const Bits shifted = hn::Add(bits, hn::Set(BitsTag(), binary64::kOne - binary64::kSqrtHalf));
    const Bits biased = hn::Or(hn::ShiftRight<52>(shifted), hn::Set(BitsTag(), binary64::kTwo52));
    exponent = sub(hn::BitCast(Tag(), biased), set(binary64::kTwo52Biased));
    const Bits removed = hn::And(shifted, hn::Set(BitsTag(), binary64::kSignAndExponent));
    return hn::BitCast(Tag(), hn::Add(hn::Sub(bits, removed), hn::Set(BitsTag(), binary64::kOne)));
  }

  // 2^n for an integer n, -1022 <= n <= 1023.
  static HWY_INLINE Real power_of_two(Real n) {
    const Bits biased = hn::BitCast(BitsTag(), add(n, set(binary64::kTwo52Biased)));
    return hn::BitCast(Tag(), hn::ShiftLeft<52>(biased));
  }

 private:
  using BitsTag = hn::RebindToUnsigned<Tag>;
  using Bits = hn::Vec<BitsTag>;

  static HWY_INLINE Real fma_by_lane(Real a, Real b, Real c) {
    HWY_ALIGN double x[kLanes], y[kLanes], z[kLanes];
    hn::Store(a, Tag(), x);
    hn::Store(b, Tag(), y);
    hn::Store(c, Tag(), z);
    for (std::size_t i = 0; i < kLanes; ++i) z[i] = std::fma(x[i], y[i], z[i]);
    return hn::Load(Tag(), z);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
