// The order in which one thread adds up a canonical sum with few registers. 32 lane sums that fold by halves are a
// binary tree: with lanes taken in bit-reversed order (0, 16, 8, 24, 4, ...) neighbours fold first, so that a sum in
// progress and one finished subtree per level, 6 numbers, stand for the 32. Knows nothing of terms.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "metric/canonical.h"

namespace libknng::cuda {

inline constexpr int kLevels = 5;  // 2^5 lanes
static_assert(kCanonicalLanes == 1 << kLevels);

// The lane at a place of the walk; its own inverse.
KNNG_HD inline int lane_at(int place) {
  int lane = 0;
  for (int level = 0; level < kLevels; ++level) lane |= (place >> level & 1) << (kLevels - 1 - level);
  return lane;
}

// How many coordinates a lane has.
KNNG_HD inline std::int64_t lane_size(int lane, std::int64_t dim) {
  return dim <= lane ? 0 : (dim - lane - 1) / kCanonicalLanes + 1;
}

// Where coordinate t comes in the walk.
KNNG_HD inline std::int64_t walk_position(std::int64_t t, std::int64_t dim) {
  const int lane = static_cast<int>(t % kCanonicalLanes);
  std::int64_t before = 0;
  for (int place = 0; lane_at(place) != lane; ++place) before += lane_size(lane_at(place), dim);
  return before + t / kCanonicalLanes;
}

}  // namespace libknng::cuda
