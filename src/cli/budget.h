// The memory limit that would do, for a message about one that is too small.
#pragma once

#include <knng.h>

#include "arguments.h"
#include "library.h"
#include "progress.h"

namespace cli {

// Adds a.data to h, for a build or a query. Where --max-memory has no room even for that, the failure says with
// how much the whole command works, if that can be known in little memory. Returns the seconds that it took.
double read_for_work(knng* h, const Arguments& a, Progress& progress);

// Throw Failure (kMemory), with what would do: if the plan is above a limit of h; if this machine has less.
void require_fit(const knng* h, const knng_plan& p);
void require_machine(const knng_plan& p);

// The same unless report_shape() has the memory that it takes. limit: 0, what this machine has.
void require_report_room(const knng_graph* g, std::int64_t limit);

}  // namespace cli
