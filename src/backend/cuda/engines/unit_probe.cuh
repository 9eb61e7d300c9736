// Whether a device's product units add up as bounds suppose (refine/unit_probe.h): known products, by the calls that
// tiles are made with, whatever cuBLAS was set to do. Knows nothing of problems.
#pragma once

#include <cstdint>
#include <string>

#include "backend/cuda/engines/rounding_model.h"
#include "backend/seam.h"

namespace libknng::cuda {

struct FoundUnits {
  knng_backend_units units;  // `usable`: of those asked for
  std::string objection;     // what one that is not usable did
};

// KNNG_UNIT bits of a device, which is current. Each is probed when it is first asked for in a process, with memory of
// its own, some 35 MiB, which is given back. Any threads may ask at the same time; a failure is not remembered.
FoundUnits find_units(int device, std::int32_t units);
// What one of them does that is not of such a chip, probed anew; "": nothing.
std::string objection_to_unit(std::int32_t unit, int device, const TensorCores& chip);

}  // namespace libknng::cuda
