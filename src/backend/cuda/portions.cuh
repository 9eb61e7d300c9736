// How much of a problem one call is given: a stop is noticed between calls and between parts of long ones, a search in
// few dimensions, whose time is the data's matter, is told of it, and progress is told between calls. Knows nothing of
// memory.
#pragma once

#include <cstdint>

#include "backend/seam.h"

namespace libknng::cuda {

// As in the seam.
std::int64_t rows_at_a_time(const knng_backend_problem& p);
std::int64_t pairs_at_a_time(const knng_backend_problem& p, int rung);
// Canonical keys that a device evaluates in such a time: of tiles that are larger, and of rows, in parts of so many.
std::int64_t keys_at_a_time(const knng_backend_problem& p, int device);

}  // namespace libknng::cuda
