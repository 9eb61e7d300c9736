#include "io/graph_mtx.h"

#include <algorithm>
#include <cstdint>

#include "io/edge_lines.h"
#include "io/file.h"
#include "io/replaced_graph.h"

namespace libknng {
namespace {

// The rest of the comment. Lines of the format have at most 1,024 characters; texts of a graph from a file may be
// longer.
std::string about_metric(const Graph& g) {
  constexpr std::size_t kLongest = 190;
  std::string words = g.text.metric.empty() ? "unknown" : g.text.metric;
  if (!g.text.p.empty()) words += ", p " + g.text.p;
  if (!g.text.value.empty()) words += ", value " + g.text.value;
  return words.size() > kLongest ? "unknown" : words;
}

}  // namespace

void save_mtx(const Graph& g, const std::string& path, const Work& work) {
  OutputFile file(path);
  require_graph_in_place(file);
  const auto entries = std::count_if(g.ids.begin(), g.ids.end(), [](std::int64_t id) { return id >= 0; });
  std::string head = std::string(kMtxHead) + about_metric(g) + "\n";
  head += std::to_string(g.rows) + " " + std::to_string(g.columns) + " " + std::to_string(entries) + "\n";
  write_edges(file, head, {' ', 1}, g, work);
  file.commit();
}

}  // namespace libknng
