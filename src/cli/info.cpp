// knng info: what a file holds. Plain "name value" lines, numbers without separators, for people and scripts alike.
#include <cstdio>
#include <string_view>

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

bool ends_with(std::string_view path, std::string_view suffix) { return path.ends_with(suffix); }

void describe_graph(const Arguments& a) {
  const Graph g = load_graph(a.graph);
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, nullptr), values = ids;
  check(knng_graph_view(g.get(), &ids, &values, error()));
  line("file", a.graph);
  line("kind", "graph");
  line("neighbours", ids.cols);
  line("value_type", dtype_name(values.dtype));
  for (const char* name :
       {"metric", "p", "value", "self", "precision", "engine", "selector", "device", "version", "fingerprint"})
    if (const std::string value = text(g.get(), name); !value.empty()) line(name, value);
  const char* name = nullptr;
  for (std::int32_t i = 0; knng_stat_name(i, &name, nullptr, nullptr) == KNNG_OK; ++i)
    line(name, number(stat(g.get(), name)));
  if (a.report) report_shape(g.get());
}

void describe_data(const Arguments& a) {
  const Handle h = make_handle({});
  Progress progress(false);
  read_files(h.get(), {a.graph}, progress);
  const Shape s = shape(h.get());
  line("file", a.graph);
  line("kind", "data");
  line("rows", s.rows);
  line("dimension", s.dim);
  line("type", dtype_name(s.dtype));
}

}  // namespace

int run_info(const Arguments& a) {
  if (ends_with(a.graph, ".npz") || ends_with(a.graph, ".knng"))
    describe_graph(a);
  else
    describe_data(a);
  return kDone;
}

}  // namespace cli
