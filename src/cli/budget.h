// The memory limit that would do, for a message about one that is too small.
#pragma once

#include <knng.h>

#include "arguments.h"
#include "failure.h"
#include "library.h"

namespace cli {

// What is said in place of `why`, which ended the command: where max_host_bytes was too small, a limit under which the
// whole command works, and whether that is the smallest, if both can be known in little memory. Else `why` as it is, or
// that at least so much is needed. Reads the command's files again. Throws Failure if they have another fault.
Failure with_enough(const Failure& why, const Arguments& a);

// Throw Failure (kMemory), with what would do: if the plan is above a limit of h; if this machine has less.
void require_fit(const knng* h, const knng_plan& p);
void require_machine(const knng_plan& p);

// The same unless report_shape() has the memory that it takes. limit: 0, what this machine has.
void require_report_room(const knng_graph* g, std::int64_t limit);

}  // namespace cli
