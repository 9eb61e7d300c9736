// A graph as a table of edges: the header source, target, weight, and a line for each neighbour. Written, not read: it
// has no marks of rows, metric or statistics, nor rows without neighbours.
#pragma once

#include <string>
#include <string_view>

#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

inline constexpr std::string_view kTsvHead = "source\ttarget\tweight\n";

// Ids count from 0. Throws KNNG_ERR_IO, KNNG_ERR_BUDGET, KNNG_ERR_CANCELLED.
void save_tsv(const Graph& g, const std::string& path, const Work& work);

}  // namespace libknng
