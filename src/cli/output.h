// Finds out before the work whether its result can be saved. Knows nothing of graphs but how one is saved.
#pragma once

#include <cstdint>
#include <string>

#include "arguments.h"

namespace cli {

// The files that a graph saved as `out` becomes, in words: one, or a pair.
std::string saved_as(const std::string& out);

// Throws Failure if a graph could not be saved as a.out: no such directory, no permission, no format of that suffix, no
// formats library, one of the files that are to be read, or ids of `points` points that the format cannot hold. Leaves
// nothing behind. What happens to the disk afterwards is not foreseen.
void require_writable(const Arguments& a, std::int64_t points = 2);

}  // namespace cli
