// How much of a problem one call is given, so that it ends soon whatever the data is: a stop is noticed between calls,
// and between parts of long ones. Knows nothing of memory.
#pragma once

#include <cstdint>

#include "backend/seam.h"

namespace libknng::cuda {

// As in the seam.
std::int64_t rows_at_a_time(const knng_backend_problem& p);
std::int64_t pairs_at_a_time(const knng_backend_problem& p, int rung);

// Rows answered by all of their canonical keys before the library is asked whether it wants more.
std::int64_t exact_rows_at_a_time(const knng_backend_problem& p);

}  // namespace libknng::cuda
