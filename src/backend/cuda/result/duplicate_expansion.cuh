// Equal rows put back into the graph of the distinct ones, from one graph in device memory to another; no list comes to
// the host. The seam's calls without its C. Knows nothing of sessions.
#pragma once

#include <cstdint>

#include "backend/seam.h"

namespace libknng::cuda {

std::int64_t expansion_bytes(const knng_backend_expansion& e);
std::int64_t expansion_host_bytes();
// The result's device is current. Returns when all is there. Throws Cancelled.
void expand(const knng_backend_expansion& e, knng_backend_result& result);

}  // namespace libknng::cuda
