// One number per row (or column) of a graph, by name, into the caller's memory. Knows nothing of how the graph was
// made.
#pragma once

#include <string_view>

#include "core/matrix_view.h"
#include "graph/graph.h"

namespace libknng {

// Whether graph_rows() looks into the lists for that number.
bool reads_lists(std::string_view what) noexcept;

// As documented at knng_graph_rows().
void graph_rows(const Graph& g, std::string_view what, const MutableMatrixView& out);

}  // namespace libknng
