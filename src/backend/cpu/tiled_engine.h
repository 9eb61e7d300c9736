// The tiled engine: a tile of lower bounds is written to memory, a selector picks the pairs that are worth it, and
// their canonical keys decide. See engine.h for the contract.
#pragma once

#include "backend/cpu/engine.h"

namespace libknng {

std::int64_t tiled_operand_bytes(const Metric& metric, std::int32_t dtype, std::int64_t k, const TileGrid& grid,
                                 std::int64_t dim);
std::int64_t tiled_workspace_bytes(const Metric& metric, std::int32_t dtype, const Selector* selector, std::int64_t k,
                                   const TileGrid& grid, std::int64_t dim);
CpuCounts run_tiled(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor);

}  // namespace libknng
