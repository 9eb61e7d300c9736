// What a graph knows about itself, as lines "name=value": shape flags, statistics, texts. Both graph files carry this
// text, by name, so that the tables of statistics and texts may grow. Knows nothing of files.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace libknng {

std::string write_facts(const Graph& g);
// Sets what the lines name and this version knows. Returns "", or what is wrong with the lines.
std::string read_facts(std::string_view lines, Graph& g);

// "" if the graph holds together, else what is wrong: ids in [-1, columns), no id twice in a row, no NaN, +inf exactly
// where there is no neighbour, flags that fit. For graphs that come from files.
std::string graph_objection(const Graph& g);

}  // namespace libknng
