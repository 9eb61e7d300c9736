// Backends beside the CPU: libraries of devices behind one seam, loaded on first need.
#pragma once

#include <string>

#include "backend/seam.h"

namespace libknng {

// The CUDA backend, or nullptr and why it cannot be used. A failure is not remembered: the library may be installed
// later. Any thread.
const knng_backend_seam* cuda_backend(std::string& why_not);

// The CUDA backend if it is loaded already, else nullptr. Any thread.
const knng_backend_seam* loaded_cuda_backend();

// "" if the table is one that this library can call, else the reason, as in "is of another build".
std::string backend_objection(const void* table);

}  // namespace libknng
