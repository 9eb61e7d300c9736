// The terms for the scalar policy, on the host and on the device; text and reasons in terms-inl.h.
#pragma once

#include "core/host_device.h"
#include "metric/elementary.h"
#include "metric/metric.h"
#include "metric/ops.h"

namespace libknng {
#include "metric/terms-inl.h"
}  // namespace libknng
