// The command line as plain values. arguments.cpp is the only file that knows the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "library.h"

namespace cli {

enum class Command { build, query, info, check, convert, estimate, devices, settings };

struct Arguments {
  Command command = Command::build;
  std::vector<std::string> data;
  std::string queries;  // query
  std::string graph;    // check, convert, info
  std::string out;      // "": none
  std::int64_t k = 0;
  std::int64_t sample = 0;      // check: rows; 0: all
  std::int64_t query_rows = 0;  // estimate; 0: a build
  Settings settings;
  std::vector<std::int64_t> rows;  // info: whose lists are printed
  bool report = false;
  bool quiet = false;
};

// Nothing if the answer (help, version) is printed already. Throws Failure (kUsage).
std::optional<Arguments> parse(int argc, char** argv);

}  // namespace cli
