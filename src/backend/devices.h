// The processors that work can run on, as knng_device_get() lists them.
#pragma once

#include <cstdint>

#include "knng/types.h"

namespace libknng {

std::int32_t device_count() noexcept;
// 0 <= i < device_count().
knng_device describe_device(std::int32_t i);

}  // namespace libknng
