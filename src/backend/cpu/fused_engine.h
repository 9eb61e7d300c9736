// The fused engine: a filter in fast arithmetic leaves out the pairs that provably cannot belong, and the canonical key
// of every other pair decides at once. See engine.h for the contract.
#pragma once

#include "backend/cpu/engine.h"
#include "backend/cpu/tile_filter.h"

namespace libknng {

bool fused_can_run(const Metric& metric, std::int64_t dim);
bool fused_pays(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
                std::int64_t k);
std::int64_t fused_operand_bytes(const Metric& metric, std::int32_t dtype, std::int64_t k, const TileGrid& grid,
                                 std::int64_t dim);
std::int64_t fused_workspace_bytes(const Metric& metric, std::int32_t dtype, const Selector*, std::int64_t k,
                                   const TileGrid& grid, std::int64_t dim);
CpuCounts run_fused_with(const CpuProblem& problem, const TileFilter& filter, NeighbourLists& lists, Budget* budget,
                         Monitor& monitor);
// With the filter that suits the data best.
CpuCounts run_fused(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor);

}  // namespace libknng
