// A graph as text, a line for each neighbour: source, target, value. Numbers have as many digits as their bits need,
// and the same in every locale. Knows nothing of what stands above the lines.
#pragma once

#include <string_view>

#include "core/work.h"
#include "graph/graph.h"
#include "io/file.h"

namespace libknng {

struct EdgeStyle {
  char separator;
  int base;  // ids count from
};

// The head, then the lines: row by row, the nearest first; nothing where there is no neighbour. Reports `write`, in
// rows. commit() is the caller's.
void write_edges(OutputFile& file, std::string_view head, EdgeStyle style, const Graph& g, const Work& work);

}  // namespace libknng
