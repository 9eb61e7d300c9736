// A graph from another library's result: checked, then copied. Knows nothing of the data that the graph is about.
#pragma once

#include <cstdint>
#include <optional>

#include "core/matrix_view.h"
#include "graph/graph.h"

namespace libknng {

// What ids are ids of.
struct IdMeaning {
  std::int32_t base;     // 0 or 1: the first point's id; base - 1: no neighbour
  std::int64_t columns;  // points that could be neighbours
  bool same_points;      // as the rows
};

// As documented at knng_graph_import(); values may be nullptr. Without a meaning, as in files of other programs, ids
// count from 0, and a graph whose ids are all below its number of rows is taken for one of the rows among themselves.
Graph import_graph(const MatrixView& ids, const MatrixView* values, const std::optional<IdMeaning>& meaning = {});

}  // namespace libknng
