// Operands of a launch in the order that its limits are in (FusedJob), so that what a lane compares together is alike:
// of points in random order the one whose lists accept most would speak for many.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace libknng::cuda::fused {

// to[place] = operands[point_at(order, place)]; zeros where there is no point. 16-byte aligned; `to` has
// in_tiles(points) of them.
struct Arranged {
  const std::byte* operands;
  int points;
  const std::uint16_t* order;
  std::byte* to;
};

// Both sides of a launch: `terms` values of 2 bytes each, a multiple of 8, as are `stride` and `to_stride`, the values
// from one point to the next.
void arrange(const Arranged& rows, const Arranged& columns, std::int64_t stride, std::int64_t terms,
             std::int64_t to_stride, cudaStream_t stream);

}  // namespace libknng::cuda::fused
