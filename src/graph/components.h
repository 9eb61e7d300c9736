// What the edges of a graph say of its points: in-degree and weakly connected components. Knows nothing of values.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "graph/graph.h"

namespace libknng {

// In how many other rows' lists each column appears; columns entries.
Buffer<std::int64_t> in_degree(const Graph& g);

// The weakly connected component of each row, numbered from 0 in order of the smallest row.
// Throws KNNG_ERR_STATE for a graph of queries.
Buffer<std::int64_t> components(const Graph& g);

}  // namespace libknng
