// The library's objects with owners, and what the commands ask of them, as C++ values. Knows nothing of the terminal.
#pragma once

#include <knng.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cli {

struct Destroy {
  void operator()(knng* h) const noexcept { knng_destroy(h); }
  void operator()(knng_graph* g) const noexcept { knng_graph_destroy(g); }
};
using Handle = std::unique_ptr<knng, Destroy>;
using Graph = std::unique_ptr<knng_graph, Destroy>;

// A setting, and the option of the command line that gave it ("": --set, or a graph).
struct Given {
  std::string key, value, option;
};
using Settings = std::vector<Given>;
// What failed, with the option that was typed in place of the setting's name; a value that was not given may have come
// from an environment variable, which stands behind it.
std::string as_typed(const std::string& line, const std::string& setting, const Settings& given);

// A handle without rows, with what a graph says of itself and then what the user gave, each in its order. A metric that
// the user gave comes without the graph's exponent.
Handle make_handle(const Settings& given, const Settings& from_graph = {});

struct Shape {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::int32_t dtype = 0;
};
Shape shape(const knng* h);
const char* dtype_name(std::int32_t dtype);

// What the library took of a file of rows.
struct Taken {
  std::string file;
  std::vector<std::pair<std::string, std::string>> facts;  // name and value; none where it goes without saying
};
std::vector<Taken> taken(const knng* h);

std::string setting(const knng* h, const char* name);
// A limit of memory in bytes; 0: none.
std::int64_t limit_of(const knng* h, const char* name);
knng_plan plan(const knng* h, std::int64_t queries, std::int64_t k);

// max_host_bytes: 0, no limit.
Graph load_graph(const std::string& path, knng_control control, std::int64_t max_host_bytes);
std::string text(const knng_graph* g, const char* name);
// A statistic; NaN if it is not known, as of a graph from elsewhere.
double stat(const knng_graph* g, const char* name);
// One number per row, or per column for "indegree".
std::vector<std::int64_t> row_facts(const knng_graph* g, const char* what);
// The component of every row; empty for a graph of queries, which has none.
std::vector<std::int64_t> components(const knng_graph* g);
// The value of the last neighbour of every row that has k of them.
std::vector<double> kth_values(const knng_graph* g);

}  // namespace cli
