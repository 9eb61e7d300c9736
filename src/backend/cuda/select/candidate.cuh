// What a filter keeps of a pair: a proved lower bound of its key, in the filter's units, and the column.
#pragma once

#include <cstdint>

namespace libknng::cuda {

struct alignas(8) Candidate {
  float low;
  std::uint32_t id;
};

}  // namespace libknng::cuda
