// Bounding boxes of points, 32 to a box, and of boxes, 32 to a box, up to a level that one warp sees at once. Children
// of a box lie together, a coordinate of all 32 side by side, so that a warp's lanes read one each. Knows nothing of
// how points were ordered.
#pragma once

#include <cstdint>

#include "backend/cuda/tree/short_key.cuh"
#include "core/division.h"
#include "core/host_device.h"

namespace libknng::cuda {

inline constexpr int kFan = 32;
inline constexpr int kMostLevels = 6;  // 32^7 points

constexpr std::int64_t groups_of(std::int64_t count) { return ceil_div(count, kFan); }

// Points or boxes in groups of 32: coordinate t of the group's members is a run of 32 numbers.
struct Members {
  const double* lows;   // of points: the points
  const double* highs;  // the same
  const std::uint32_t* ids;
  std::int64_t count;
  std::int64_t group_values;  // from a group's lows to the next group's

  KNNG_HD int size(std::int64_t group) const {
    const std::int64_t left = count - group * kFan;
    return left < kFan ? static_cast<int>(left) : kFan;
  }
  KNNG_HD std::int64_t at(std::int64_t group, int t) const { return group * group_values + t * kFan; }
};

KNNG_HD inline Members points_in_groups(const double* values, const std::uint32_t* ids, std::int64_t count, int dim) {
  return {values, values, ids, count, std::int64_t{kFan} * dim};
}
KNNG_HD inline Members boxes_in_groups(const double* bounds, const std::uint32_t* ids, std::int64_t count, int dim) {
  return {bounds, bounds + std::int64_t{kFan} * dim, ids, count, std::int64_t{2 * kFan} * dim};
}

struct BoxTree {
  int dim = 0;
  int levels = 0;                   // 0: there are no points
  Members points = {};              // of leaves
  Members boxes[kMostLevels] = {};  // leaves first; the last level has one group
  // Of each leaf the place of its first point in the order in which points are grouped: a number that never falls.
  const std::uint64_t* codes = nullptr;
};

// Numbers of boxes by level; returns the levels.
KNNG_HD inline int count_boxes(std::int64_t points, std::int64_t (&boxes)[kMostLevels]) {
  int levels = 0;
  for (std::int64_t count = points; count > 0 && (levels == 0 || count > kFan); ++levels)
    boxes[levels] = count = groups_of(count);
  return levels;
}

// Coordinate t of the box around a group of members, into the box of that number.
KNNG_HD inline void enclose(const Members& members, std::int64_t group, int t, int dim, double* bounds) {
  const std::int64_t at = members.at(group, t);
  const int size = members.size(group);
  double low = members.lows[at], high = members.highs[at];
  for (int j = 1; j < size; ++j) {
    low = members.lows[at + j] < low ? members.lows[at + j] : low;
    high = members.highs[at + j] > high ? members.highs[at + j] : high;
  }
  const Members box = boxes_in_groups(bounds, nullptr, 0, dim);
  const std::int64_t to = box.at(group / kFan, t) + group % kFan;
  bounds[to] = low;
  bounds[to + (box.highs - box.lows)] = high;
}

// The first leaf that begins with a code, or else the last that begins before it; the first if none does.
KNNG_HD inline std::int64_t leaf_of(const BoxTree& tree, std::uint64_t code) {
  std::int64_t leaf = 0, end = tree.boxes[0].count;
  while (leaf < end) {
    const std::int64_t middle = leaf + (end - leaf) / 2;
    if (tree.codes[middle] < code)
      leaf = middle + 1;
    else
      end = middle;
  }
  const bool begins = leaf < tree.boxes[0].count && tree.codes[leaf] == code;
  return begins || leaf == 0 ? leaf : leaf - 1;
}

KNNG_HD inline std::uint32_t smallest_id(const Members& members, std::int64_t group) {
  const std::uint32_t* ids = members.ids + group * kFan;
  std::uint32_t id = ids[0];
  for (int j = 1; j < members.size(group); ++j) id = ids[j] < id ? ids[j] : id;
  return id;
}

}  // namespace libknng::cuda
