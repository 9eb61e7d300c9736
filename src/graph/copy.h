// The graph's lists into the caller's memory: any of the id and value types, any strides, ids from 0 or 1.
// Knows nothing of how the graph was made.
#pragma once

#include <cstdint>

#include "core/matrix_view.h"
#include "graph/graph.h"

namespace libknng {

// Throws if shapes or types of what is to be written do not fit; ids and values may be nullptr.
void require_copy(const Graph& g, std::int32_t base, const MutableMatrixView* ids, const MutableMatrixView* values);

// What is said of an entry that the type to be written cannot hold; id: with `base` added.
[[noreturn]] void refuse_id(std::int64_t id, std::int32_t base, std::int64_t row, std::int64_t col, std::int32_t dtype);
[[noreturn]] void refuse_value(double x, std::int64_t row, std::int64_t col, std::int32_t dtype);

// As documented at knng_graph_copy(), into host memory. Begins with require_copy(): nothing is written before.
void copy_graph(const Graph& g, std::int32_t base, const MutableMatrixView* ids, const MutableMatrixView* values);

}  // namespace libknng
