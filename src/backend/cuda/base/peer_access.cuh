// Access of devices to each other's memory, kept open between calls. Knows nothing of what is copied or read.
#pragma once

#include <cstdint>
#include <span>

namespace libknng::cuda {

// When memory of a device is let to another, and no pool is between the two so far, the driver makes a way first: 9 ms
// (two H200s, driver 580), which is as long as a small build, for each pair and direction, one after the other. From
// now on there is one for each of the readers that can have it. The device is current.
void keep_peer_access_open(int device, std::span<const std::int32_t> readers);

}  // namespace libknng::cuda
