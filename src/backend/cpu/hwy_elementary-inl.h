// log<SimdOps> and pow<SimdOps> for the SIMD target being compiled: the text of metric/elementary-inl.h inside the
// target's region and namespace. Re-included once per target, as hwy_ops-inl.h.
#include "backend/cpu/hwy_ops-inl.h"

#if defined(KNNG_BACKEND_CPU_HWY_ELEMENTARY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KNNG_BACKEND_CPU_HWY_ELEMENTARY_INL_H
#undef KNNG_BACKEND_CPU_HWY_ELEMENTARY_INL_H
#else
#define KNNG_BACKEND_CPU_HWY_ELEMENTARY_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {
#include "metric/elementary-inl.h"
}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
