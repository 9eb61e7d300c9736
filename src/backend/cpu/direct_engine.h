// The direct engine: every canonical key. See engine.h for the contract.
#pragma once

#include "backend/cpu/engine.h"

namespace libknng {

std::int64_t direct_workspace_bytes(const Metric& metric, std::int32_t dtype, const Selector* selector, std::int64_t k,
                                    const TileGrid& grid, std::int64_t dim);
CpuCounts run_direct(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor);

}  // namespace libknng
