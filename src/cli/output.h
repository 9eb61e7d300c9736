// Finds out before the work whether its result can be saved. Knows nothing of graphs but how one is saved.
#pragma once

#include "arguments.h"

namespace cli {

// Throws Failure if a graph could not be saved as a.out: no such directory, no permission, no format of that suffix, no
// formats library, or one of the files that are to be read. Leaves nothing behind. What happens to the disk afterwards
// is not foreseen.
void require_writable(const Arguments& a);

}  // namespace cli
