// Graphs in files: which format, by name when writing and by content when reading. One file per format implements it.
#pragma once

#include <string>

#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

// format: a name of the table, or nullptr: by the suffix of path, in small letters or capitals. Throws KNNG_ERR_OPTION
// for another format or suffix, KNNG_ERR_IO, KNNG_ERR_UNSUPPORTED, KNNG_ERR_RANGE for what a format cannot hold,
// KNNG_ERR_BUDGET, KNNG_ERR_CANCELLED.
void save_graph(const Graph& g, const std::string& path, const char* format, const Work& work = {});

// Throws KNNG_ERR_IO, KNNG_ERR_FORMAT, KNNG_ERR_UNSUPPORTED (also for formats that are only written), KNNG_ERR_MEMORY,
// KNNG_ERR_BUDGET, KNNG_ERR_CANCELLED.
Graph load_graph(const std::string& path, const Work& work = {});

}  // namespace libknng
