// How much of a problem one call is given, so that it ends soon whatever the data is: a stop is noticed between calls.
// Knows nothing of memory.
#pragma once

#include <cstdint>

#include "backend/seam.h"

namespace libknng::cuda {

// As in the seam. Pure; a problem's devices are asked for their speed.
std::int64_t rows_at_a_time(const knng_backend_problem& p);
std::int64_t pairs_at_a_time(const knng_backend_problem& p);

}  // namespace libknng::cuda
