// Logarithm and power with the same bits on every processor: log<Ops>(x) and pow<Ops>(x, p) for the arithmetic policy
// of one double, on the host and on the device. The code itself is in elementary-inl.h; its SIMD instances come from
// backend/cpu/hwy_elementary-inl.h.
#ifndef KNNG_METRIC_ELEMENTARY_H
#define KNNG_METRIC_ELEMENTARY_H

#include "metric/ops.h"

namespace libknng {
#include "metric/elementary-inl.h"

// Proved in docs/internals/canonical-key.md, "What is proved of log and pow", crudely; what is seen is far less.
// |log(x) - ln x| <= kLogError |ln x| for finite x > 0.
inline constexpr double kLogError = 0x1p-46;
// |pow(x, p) - x^p| <= kPowError x^p + 2^-1074 for finite x >= 0 and p > 0 with x^p <= 2^1023.
inline constexpr double kPowError = 0x1p-46;
}  // namespace libknng

#endif  // KNNG_METRIC_ELEMENTARY_H
