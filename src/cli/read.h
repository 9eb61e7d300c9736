// Data files into a handle, with progress.
#pragma once

#include <string>
#include <vector>

#include "library.h"
#include "progress.h"

namespace cli {

// Adds the files one after the other. Returns the seconds that it took.
double read_files(knng* h, const std::vector<std::string>& paths, Progress& progress);

}  // namespace cli
