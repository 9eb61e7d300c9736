// Copies from memory of another device that this one may not read. Knows nothing of what is copied.
#pragma once

#include <cstdint>

#include "backend/cuda/base/stream.cuh"

namespace libknng::cuda {

// Access between whole devices is the process's, and without it the driver copies through host memory. Here blocks on
// the other device, which `device` may read, take what is copied: the way between devices (NVLink, say) then carries
// it. Small copies, and those of devices without a way, go as the driver has it. `device`, which the stream is of, is
// current. What follows on the stream finds all of it.
void relay(void* to, int device, const void* from, int from_device, std::int64_t bytes, const Stream& stream);

}  // namespace libknng::cuda
