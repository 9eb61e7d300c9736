// Checks some rows of a graph that the CPU made: all of their pairs, by the engine that leaves none out. A filter's own
// counts see only what it let through; this sees what it lost. On devices sessions do the same (backend/seam.h,
// check).
#pragma once

#include <cstdint>

#include "exec/request.h"
#include "exec/task.h"
#include "graph/graph.h"
#include "prepare/canonical_rows.h"

namespace libknng {

// Throws KNNG_ERR_CHECK for a row.
[[noreturn]] void refuse_list(std::int64_t row);

// Compares `checked` rows of the graph, spread over all, ids, bits and ties, with their lists of all canonical keys.
// columns: the request's data, in the order of their ids. Throws KNNG_ERR_CHECK for the first row that differs.
void check_rows(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam& team, std::int64_t checked,
                const CanonicalRows& columns, Graph& graph);

// Host memory of that beside columns and graph: for all threads, and for each.
std::int64_t check_bytes(const Task& task, std::int64_t checked, std::int64_t dim, std::int64_t k);
std::int64_t check_thread_bytes(const Metric& metric, std::int64_t checked, std::int64_t columns, std::int64_t dim,
                                std::int64_t k, std::int64_t tile_rows, std::int64_t tile_cols);

}  // namespace libknng
