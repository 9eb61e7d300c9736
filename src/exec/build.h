// Drivers of knng_build() and knng_query(): prepare, tiles, result. They run the work on a thread of its own and return
// when it is done.
#pragma once

#include <cstdint>

#include "core/monitor.h"
#include "dataset/dataset.h"
#include "graph/graph.h"
#include "options/options.h"

namespace libknng {

Graph build_graph(const Dataset& data, const Settings& settings, std::int64_t k, Monitor& monitor);

// leave_out: nullptr, or queries.rows() ids, -1 for none, for which held_bytes of host memory are held.
Graph query_graph(const Dataset& data, const Settings& settings, const Dataset& queries, const std::int64_t* leave_out,
                  std::int64_t k, Monitor& monitor, std::int64_t held_bytes = 0);

}  // namespace libknng
