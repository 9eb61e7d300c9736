// Finds out before the work whether its result can be saved. Knows nothing of graphs but how one is saved.
#pragma once

#include <string>

namespace cli {

// Throws Failure if a graph could not be saved at `path`: no such directory, no permission, no format of that suffix,
// no formats library. Leaves nothing behind. What happens to the disk afterwards is not foreseen.
void require_writable(const std::string& path);

}  // namespace cli
