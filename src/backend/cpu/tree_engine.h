// The tree engine: in few dimensions most pairs need not be looked at, as the boxes around groups of points are too far
// away. Every key that is compared is a canonical one. See engine.h for the contract.
#pragma once

#include "backend/cpu/engine.h"

namespace libknng {

bool tree_can_run(const Metric& metric, std::int64_t dim);
bool tree_pays(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
               std::int64_t k);
double tree_share(std::int64_t dim, std::int64_t columns, std::int64_t k);
std::int64_t tree_operand_bytes(const Metric& metric, std::int32_t dtype, std::int64_t k, const TileGrid& grid,
                                std::int64_t dim);
std::int64_t tree_workspace_bytes(const Metric& metric, std::int32_t dtype, const Selector* selector, std::int64_t k,
                                  const TileGrid& grid, std::int64_t dim);
CpuCounts run_tree(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor);

}  // namespace libknng
