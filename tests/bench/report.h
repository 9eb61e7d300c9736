// Results as a table to read and as JSON to draw from. Measures nothing.
#pragma once

#include <string>
#include <vector>

#include "fma_peak.h"
#include "measure.h"

namespace bench {

// What was run, where, and what the machine can do.
struct Context {
  std::string command;
  std::vector<Peak> peaks;  // one for each number of threads
  std::string load_before;
};

void print_context(const Context& context);

// A Markdown table: one line for each result; parts of the time that are nowhere more than 0 have no column.
void print_results(const Context& context, const std::vector<Result>& results);

// Throws std::runtime_error if the file cannot be written.
void write_json(const Context& context, const std::vector<Result>& results, const std::string& path);

}  // namespace bench
