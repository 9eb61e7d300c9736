// Driver of knng_check(): compares a graph with canonical keys evaluated plainly, one pair at a time, in code that
// shares nothing with the engines but the row transforms.
#pragma once

#include <cstdint>

#include "core/monitor.h"
#include "dataset/dataset.h"
#include "graph/graph.h"
#include "options/options.h"

namespace libknng {

// The first of `sample` rows (0: all) that differs in ids or bits, or -1. Throws KNNG_ERR_ARGUMENT if the shapes
// differ.
std::int64_t check_graph(const Dataset& data, const Settings& settings, const Graph& graph, std::int64_t sample,
                         Monitor& monitor);

}  // namespace libknng
