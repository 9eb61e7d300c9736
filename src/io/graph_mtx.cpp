#include "io/graph_mtx.h"

#include <algorithm>
#include <cstdint>

#include "io/edge_lines.h"
#include "io/file.h"

namespace libknng {
namespace {

// Lines of the format have at most 1,024 characters; texts of a graph from a file may be longer.
std::string comment(const Graph& g) {
  constexpr std::size_t kLongest = 200;
  std::string line = "% metric " + (g.text.metric.empty() ? "unknown" : g.text.metric);
  if (!g.text.p.empty()) line += ", p " + g.text.p;
  if (!g.text.value.empty()) line += ", value " + g.text.value;
  return line.size() > kLongest ? "" : line + "\n";
}

}  // namespace

void save_mtx(const Graph& g, const std::string& path, const Work& work) {
  OutputFile file(path);
  const auto entries = std::count_if(g.ids.begin(), g.ids.end(), [](std::int64_t id) { return id >= 0; });
  std::string head = "%%MatrixMarket matrix coordinate real general\n" + comment(g);
  head += std::to_string(g.rows) + " " + std::to_string(g.columns) + " " + std::to_string(entries) + "\n";
  write_edges(file, head, {' ', 1}, g, work);
  file.commit();
}

}  // namespace libknng
