// knng info: what a file holds. Plain "name value" lines, numbers without separators, for people and scripts alike.
#include <cmath>
#include <cstdio>
#include <string_view>

#include "budget.h"
#include "commands.h"
#include "failure.h"
#include "progress.h"
#include "read.h"
#include "report.h"
#include "words.h"

namespace cli {
namespace {

void line(const char* name, const std::string& value) { std::printf("%-18s %s\n", name, value.c_str()); }
void line(const char* name, std::int64_t value) { line(name, std::to_string(value)); }

// .mtx is no format of rows; as a graph the library says why it is not read.
bool names_graph(std::string_view path) {
  return has_suffix(path, ".npz") || has_suffix(path, ".knng") || has_suffix(path, ".mtx");
}

// One line for each neighbour, the nearest first: row, neighbour, value, with as many digits as its bits need.
void print_list(const knng_matrix& ids, const knng_matrix& values, std::int64_t row) {
  for (std::int64_t at = row * ids.cols; at < (row + 1) * ids.cols; ++at) {
    const auto id = static_cast<const std::int64_t*>(ids.data)[at];
    if (id < 0) return;  // a list of a graph from elsewhere, which is shorter
    const bool single = values.dtype == KNNG_F32;
    const double value = single ? static_cast<double>(static_cast<const float*>(values.data)[at])
                                : static_cast<const double*>(values.data)[at];
    std::printf("%lld %lld %.*g\n", static_cast<long long>(row), static_cast<long long>(id), single ? 9 : 17, value);
  }
}

// Whose lists they are.
std::string kind_of(const knng_graph* g) {
  std::int64_t rows = 0, columns = 0;
  std::int32_t same_points = 0;
  check(knng_graph_shape(g, &rows, &columns, nullptr, &same_points, error()));
  if (same_points == 1) return "graph";
  return "graph of queries: " + std::to_string(rows) + " queries x " + std::to_string(columns) + " points";
}

void describe_graph(const Arguments& a) {
  for (const Given& given : a.settings)
    if (given.key == "file_points")
      throw Failure(kUsage,
                    given.option + ": '" + plain(a.graph) + "' is no data file, whose points could be its columns");
  Progress progress(false);
  const Graph g = read_graph(a, progress);
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, nullptr), values = ids;
  check(knng_graph_view(g.get(), &ids, &values, error()));
  for (const std::int64_t row : a.rows)
    if (row < 0 || row >= ids.rows)
      throw Failure(kUsage,
                    "--row=" + std::to_string(row) + ": the graph has rows 0 to " + std::to_string(ids.rows - 1));
  for (const std::int64_t row : a.rows) print_list(ids, values, row);
  if (!a.rows.empty()) return;
  line("file", plain(a.graph));
  line("kind", kind_of(g.get()));
  line("neighbours", ids.cols);
  line("value_type", dtype_name(values.dtype));
  for (const char* name :
       {"metric", "p", "value", "self", "precision", "engine", "selector", "device", "version", "fingerprint"})
    if (const std::string value = text(g.get(), name); !value.empty()) line(name, value);
  const char* name = nullptr;
  for (std::int32_t i = 0; knng_stat_name(i, &name, nullptr, nullptr) == KNNG_OK; ++i)
    if (const double value = stat(g.get(), name); !std::isnan(value)) line(name, number(value));  // known
  if (!a.report) return;
  std::fflush(stdout);
  require_report_room(g.get(), host_limit(a));
  report_shape(g.get());
}

void describe_data(const Arguments& a) {
  if (!a.rows.empty() || a.report)
    throw Failure(kUsage,
                  (a.report ? "--report: '" : "--row: '") + plain(a.graph) + "' is no graph; it takes .npz or .knng");
  const Handle h = make_handle(a.settings);
  Progress progress(false);
  read_files(h.get(), {a.graph}, progress);
  const Shape s = shape(h.get());
  line("file", plain(a.graph));
  line("kind", "data");
  for (const Taken& file : taken(h.get()))
    for (const auto& [name, value] : file.facts) line(name.c_str(), plain(value));
  line("rows", s.rows);
  line("dimension", s.dim);
  line("type", dtype_name(s.dtype));
}

}  // namespace

int run_info(const Arguments& a) {
  if (names_graph(a.graph))
    describe_graph(a);
  else
    describe_data(a);
  return kDone;
}

void rehearse_info(const Arguments& a, Progress& progress) {
  if (!names_graph(a.graph)) {
    read_files(make_handle(a.settings).get(), {a.graph}, progress);
    return;
  }
  const Graph g = read_graph(a, progress);
  if (a.report) require_report_room(g.get(), host_limit(a));
}

}  // namespace cli
