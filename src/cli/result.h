// The end of build and query: the graph is saved and reported.
#pragma once

#include "arguments.h"
#include "library.h"
#include "progress.h"

namespace cli {

// Saves the graph if `a` names an output; one line on standard error says what was made and where it ran.
void deliver(const knng_graph* g, const Arguments& a, const Shape& data, Progress& progress);

}  // namespace cli
