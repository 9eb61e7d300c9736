// A graph from another library's result: checked, then copied. Knows nothing of the data that the graph is about.
#pragma once

#include "core/matrix_view.h"
#include "graph/graph.h"

namespace libknng {

// As documented at knng_graph_import(); values may be nullptr.
Graph import_graph(const MatrixView& ids, const MatrixView* values);

}  // namespace libknng
