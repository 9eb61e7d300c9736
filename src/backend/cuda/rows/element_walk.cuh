// How the threads of a launch share out the elements of a matrix: lanes next to each other take elements that lie next
// to each other in memory, and no thread divides for an element. Knows nothing of what is done with them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "backend/cuda/base/blocks.cuh"
#include "core/division.h"

namespace libknng::cuda {

// Elements from one row to the next, and from one column to the next.
struct Strides {
  std::int64_t row, column;

  // Whether the elements of a column are nearer to each other than those of a row.
  bool run_down() const { return (row < 0 ? -row : row) < (column < 0 ? -column : column); }
};

// A part of the matrix for a block at a time: `lanes` elements in the direction of the lanes, which is along rows or
// down columns, times as many in the other as make kEach elements a thread.
class ElementWalk {
 public:
  static constexpr int kThreads = 256, kEach = 4;
  struct Element {
    std::int64_t row, column;
    bool exists;
  };

  ElementWalk(std::int64_t rows, std::int64_t columns, bool down)
      : down_(down), along_(down ? rows : columns), across_(down ? columns : rows) {
    while (1 << log_lanes_ < kThreads && 1 << log_lanes_ < along_) ++log_lanes_;
    parts_along_ = blocks_for(along_, 1 << log_lanes_);
    parts_ = blocks_for(parts_along_ * ceil_div(across_, kThreads * kEach >> log_lanes_), 1);
  }

  // Of a launch. `most`: fewer for a kernel that often ends after a few elements.
  unsigned blocks(std::int64_t most = 1 << 16) const { return blocks_for(parts_, 1, most); }
  __device__ std::uint32_t parts() const { return parts_; }
  // A thread's elements of a part, `each` of kEach.
  __device__ Element element(std::uint32_t part, int each) const {
    const int thread = static_cast<int>(threadIdx.x), lane = thread & ((1 << log_lanes_) - 1);
    const int line = each * (kThreads >> log_lanes_) + (thread >> log_lanes_);
    const std::int64_t along = (std::int64_t{part % parts_along_} << log_lanes_) + lane;
    const std::int64_t across = std::int64_t{part / parts_along_} * (kThreads * kEach >> log_lanes_) + line;
    const bool exists = along < along_ && across < across_;
    return down_ ? Element{along, across, exists} : Element{across, along, exists};
  }

 private:
  bool down_;
  int log_lanes_ = 0;
  std::int64_t along_, across_;
  std::uint32_t parts_along_, parts_;  // below 2^31, each of 256 places or more
};

}  // namespace libknng::cuda
