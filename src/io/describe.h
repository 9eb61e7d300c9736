// What a caller knows of a graph beside its lists, for a graph that was imported. Held against the same rules as
// what a graph file says of itself. Knows nothing of files.
#pragma once

#include "core/matrix_view.h"
#include "graph/graph.h"

namespace libknng {

// As documented at knng_graph_describe(); marks may be nullptr. Throws before anything of the graph has changed.
void describe_graph(Graph& g, const char* facts, const MatrixView* ties, const MatrixView* proof);

}  // namespace libknng
