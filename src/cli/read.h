// Data files into a handle and graphs, with progress.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.h"
#include "library.h"
#include "progress.h"

namespace cli {

// The command's --max-memory; 0: none.
std::int64_t host_limit(const Arguments& a);

// Adds the files one after the other. Returns the seconds that it took.
double read_files(knng* h, const std::vector<std::string>& paths, Progress& progress);

// The graph that the command names, within its --max-memory.
Graph read_graph(const Arguments& a, Progress& progress);

}  // namespace cli
