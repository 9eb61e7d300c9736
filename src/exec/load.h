// Driver of knng_add_file(): rows from a file into a data set, in blocks, with progress; or left in the file.
#pragma once

#include <string>

#include "core/monitor.h"
#include "dataset/dataset.h"
#include "io/rows_taken.h"
#include "options/options.h"

namespace libknng {

// What the settings allow, with what the data set holds.
Budget budget_for(const Settings& settings, const Dataset& data);

// All or nothing. Rows that stay in the file are read by a team of threads, others on the calling thread.
RowsTaken add_file(Dataset& data, const Settings& settings, const std::string& path, Monitor& monitor);

// The rows of a query file as a data set of their own, charged to the same budget.
Dataset load_queries(const Dataset& data, const Settings& settings, const std::string& path, Monitor& monitor);

}  // namespace libknng
