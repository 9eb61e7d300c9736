// Lists that a graph keeps on a device, where the host can read them.
#pragma once

#include "graph/graph.h"

namespace libknng {

// Copies ids and values of a graph that is kept on a device; both stay there as well. On failure it is as it was.
void fetch_lists(Graph& graph);

// Values of one row of any graph. out: graph.width.
void load_values(const Graph& graph, std::int64_t row, double* out);

// Its ids and values as matrices in memory of its device.
MatrixView kept_ids(const Graph& graph) noexcept;
MatrixView kept_values(const Graph& graph) noexcept;

}  // namespace libknng
