// What a graph knows about itself, as lines "name=value": shape flags, statistics, texts. Both graph files carry this
// text, by name, so that the tables of statistics and texts may grow. Knows nothing of files.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

// No graph says as much about itself; what a file claims is held against this before memory is asked for.
inline constexpr std::int64_t kMostFactBytes = std::int64_t{1} << 20;

std::string write_facts(const Graph& g);
// Sets what the lines name and this version knows; texts become plain ones (core/text.h), as a build makes them.
// Returns "", or what is wrong with the lines.
std::string read_facts(std::string_view lines, Graph& g);
// The same of a file. Before 0.9 files had 0 for a statistic that nobody knew: such zeros are not believed.
std::string read_file_facts(std::string_view lines, Graph& g);

// Marks of rows that say how many there are, of a graph whose statistics do not: these become known. Where all marks
// are 0 nobody may have looked, and nothing becomes known.
void count_marks(Graph& g);

// What is wrong with a graph, and in which row and column of its lists. Without text: nothing.
struct Objection {
  std::string text;
  Where where = {};
};

// None if the graph holds together, else what is wrong: ids in [-1, columns), no id twice in a row, no NaN, +inf
// exactly where there is no neighbour, flags that fit, marks that exist, statistics that such a graph can have. For
// graphs that come from files. Takes the memory of one list beside the graph.
Objection graph_objection(const Graph& g, const Work& work = {});

}  // namespace libknng
