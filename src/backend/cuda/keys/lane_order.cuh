// The order in which one thread adds up a canonical sum with few registers. 32 lane sums that fold by halves are a
// binary tree: with lanes taken in bit-reversed order (0, 16, 8, 24, 4, ...) neighbours fold first, so that a sum in
// progress and one finished subtree per level, 6 numbers, stand for the 32. Knows nothing of memory.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "metric/canonical.h"
#include "metric/ops.h"

namespace libknng::cuda {

inline constexpr int kLevels = 5;  // 2^5 lanes
static_assert(kCanonicalLanes == 1 << kLevels);

// The lane at a place of that order; its own inverse.
KNNG_HD inline int lane_at(int place) {
  int lane = 0;
  for (int level = 0; level < kLevels; ++level) lane |= (place >> level & 1) << (kLevels - 1 - level);
  return lane;
}

// How many coordinates a lane has.
KNNG_HD inline std::int64_t lane_size(int lane, std::int64_t dim) {
  return dim <= lane ? 0 : (dim - lane - 1) / kCanonicalLanes + 1;
}

// Where each coordinate comes in that order.
struct LaneOrder {
  explicit LaneOrder(std::int64_t dim) {
    std::int64_t before = 0;
    for (int place = 0; place < kCanonicalLanes; ++place) {
      first[lane_at(place)] = before;
      before += lane_size(lane_at(place), dim);
    }
  }
  KNNG_HD std::int64_t place_of(std::int64_t t) const { return first[t % kCanonicalLanes] + t / kCanonicalLanes; }

  std::int64_t first[kCanonicalLanes];  // by lane
};

// One number for every sum of the term T, of kPairs pairs.
template <class T, int kPairs>
struct Sums {
  double s[kPairs][T::kSums];

  __device__ void clear() {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair)
#pragma unroll
      for (int i = 0; i < T::kSums; ++i) s[pair][i] = 0;
  }
  __device__ void join(const Sums& left) {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair)
#pragma unroll
      for (int i = 0; i < T::kSums; ++i) s[pair][i] = T::template join<ScalarOps>(left.s[pair][i], s[pair][i]);
  }
};

// The lane at `place` is complete: `sum` joins the subtrees that wait for it, and waits itself, unless it is the last.
// Every second lane waits as `waiting`, in registers; what waits on higher levels is found by an index, and therefore
// in local memory: apart, or all of it would be there.
template <class S>
__device__ inline void fold_lane(int place, S& sum, S& waiting, S (&above)[kLevels - 1]) {
  if ((place & 1) == 0) {
    waiting = sum;
  } else {
    sum.join(waiting);
    int level = 1;
#pragma unroll 1
    for (; place >> level & 1; ++level) sum.join(above[level - 1]);
    if (level == kLevels) return;
    above[level - 1] = sum;
  }
  sum.clear();
}

}  // namespace libknng::cuda
