// The direct engine: every canonical key. See engine.h for the contract.
#pragma once

#include "backend/cpu/engine.h"

namespace libknng {

CpuCounts run_direct(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor);

}  // namespace libknng
