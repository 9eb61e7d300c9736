// The processors that work can run on, as knng_device_get() lists them: the CPU, then those of the CUDA backend, or one
// entry that says why there are none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/seam.h"
#include "knng/types.h"

namespace libknng {

std::int32_t device_count();
// 0 <= i < device_count().
knng_device describe_device(std::int32_t i);

// Devices of a backend that are to work together; none: the CPU. What is known of them is from when they were looked
// for, since to ask a driver takes long beside a small build.
struct DeviceSet {
  const knng_backend_seam* backend = nullptr;
  std::vector<std::int32_t> devices;
  std::string name;                     // of the first
  std::int64_t free_bytes = INT64_MAX;  // on each at least; INT64_MAX: not known
};

// Those of setting device=`list` ("cuda:N,M,..."). Throws KNNG_ERR_DEVICE if one is not there or cannot be used.
DeviceSet listed_devices(std::string_view list);
// The first that are usable, as many as that at most; or none.
DeviceSet usable_devices(std::int32_t most);
// The same for device=cuda. Throws KNNG_ERR_DEVICE if there is none.
DeviceSet cuda_devices(std::int32_t most);
// All of `numbers` that are usable, in that order, or none.
DeviceSet usable_devices_of(std::span<const std::int32_t> numbers);

}  // namespace libknng
