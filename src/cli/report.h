// What --report prints on standard output: the plan before the work, what it cost, and the shape of the graph.
// Knows nothing of how a graph was asked for.
#pragma once

#include <knng.h>

#include <cstdint>

#include "library.h"

namespace cli {

// The problem and what the library plans, which is returned. query_rows 0: a build. Throws Failure (kMemory) in place
// of a plan that is above a limit.
knng_plan report_plan(const knng* h, std::int64_t query_rows, std::int64_t k);
// Where the work ran, the time split, speed, proof, memory. dim: of the rows. read_seconds: time to read the files.
void report_work(const knng_graph* g, std::int64_t dim, double read_seconds);
// Ties, duplicates, components, hubs, distances.
void report_shape(const knng_graph* g);

}  // namespace cli
