// The graph's lists, wherever they are, into the caller's memory on a device, converted there. Knows devices only
// through backend/memory.h.
#pragma once

#include <cstdint>

#include "core/matrix_view.h"
#include "graph/graph.h"

namespace libknng {

// As copy_graph(), after require_copy().
void copy_ids_to_device(const Graph& graph, std::int32_t base, const MutableMatrixView& to);
void copy_values_to_device(const Graph& graph, const MutableMatrixView& to);

}  // namespace libknng
