// What a filter keeps of a pair: a proved lower bound of its key, in the filter's units, and the column.
#pragma once

#include <cstdint>

namespace libknng::cuda {

struct Candidate {
  float low;
  std::uint32_t id;
};

}  // namespace libknng::cuda
