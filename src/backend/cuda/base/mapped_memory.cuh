// Large arrays of device memory, each mapped into an address range of its own. That takes an eighth of the time that a
// pool takes to grow and to end, and unlike cudaFree() waits for nobody's streams. Copies between devices would also
// need peer access, so these arrays are for one device alone. Knows nothing of who counts bytes.
#pragma once

#include <cstdint>

namespace libknng::cuda {

// Smaller arrays are as fast from a pool.
inline constexpr std::int64_t kFewestMapped = std::int64_t{64} << 20;
// What is mapped is a multiple of this, which is one of the page of every device that there has been.
inline constexpr std::int64_t kMappedGrain = std::int64_t{2} << 20;

// Whether the device can; it is current, here and below.
bool can_map_memory(int device);
// Whole grains. Throws CudaError.
void* map_memory(int device, std::int64_t bytes);
// Of as many bytes; nothing that uses it is in flight.
void unmap_memory(void* memory, std::int64_t bytes) noexcept;

}  // namespace libknng::cuda
