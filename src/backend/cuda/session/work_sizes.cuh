// How much of a problem one call is given. A stop is noticed between calls and between parts of long ones, and progress
// is reported between calls. A search in few dimensions, whose time depends on the data, is cancelled while it runs.
// Knows nothing of memory.
#pragma once

#include <cstdint>

#include "backend/seam.h"

namespace libknng::cuda {

// As in the seam; rows_at_a_time() of engines that answer rows.
std::int64_t rows_at_a_time(const knng_backend_problem& p);
std::int64_t pairs_at_a_time(const knng_backend_problem& p, int rung);
// Of one device, for problems that are planned. How many planned tiles end in the time that a tile should take, or what
// share of one does; how many canonical keys a part of them should have, so that three end within half a second; and of
// how many rows that are refined it is the keys, if all candidates of their lists are evaluated.
double tiles_at_a_time(const knng_backend_problem& p, int rung, int device);
std::int64_t keys_at_a_time(const knng_backend_problem& p, int device);
std::int64_t refined_at_a_time(const knng_backend_problem& p, int device);

}  // namespace libknng::cuda
