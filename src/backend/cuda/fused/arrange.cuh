// Operands of a launch in the order that its limits are in (FusedJob), so that what a lane compares together is alike:
// of points in random order the one whose lists accept most would speak for many.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace libknng::cuda::fused {

// to[place] = operands[point_at(order, place)], `terms` values of 2 bytes each, a multiple of 8; zeros where there is
// no point. `stride`, `to_stride`: values from one point to the next, multiples of 8; `to` has in_tiles(points) of
// them. 16-byte aligned.
void arrange(const std::byte* operands, std::int64_t stride, int points, const std::uint16_t* order, std::int64_t terms,
             std::byte* to, std::int64_t to_stride, cudaStream_t stream);

}  // namespace libknng::cuda::fused
