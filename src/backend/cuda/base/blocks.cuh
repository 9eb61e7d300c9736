// How many blocks a launch takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/division.h"

namespace libknng::cuda {

// For so many things (threads, rows, ...), of_block of them a block. `most`: of a kernel whose blocks take further
// ones.
inline unsigned blocks_for(std::int64_t things, std::int64_t of_block,
                           std::int64_t most = std::numeric_limits<int>::max()) {
  return static_cast<unsigned>(std::min(ceil_div(things, of_block), most));
}

}  // namespace libknng::cuda
