// Logarithm and power with the same bits on every processor: log<Ops>(x) and pow<Ops>(x, p) for the arithmetic policy
// of one double, on the host and on the device. The code itself is in elementary-inl.h; its SIMD instances come from
// backend/cpu/hwy_elementary-inl.h.
#ifndef KNNG_METRIC_ELEMENTARY_H
#define KNNG_METRIC_ELEMENTARY_H

#include "metric/ops.h"

namespace libknng {
#include "metric/elementary-inl.h"
}  // namespace libknng

#endif  // KNNG_METRIC_ELEMENTARY_H
