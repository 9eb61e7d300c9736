#include "io/graph_tsv.h"

#include "io/edge_lines.h"
#include "io/file.h"
#include "io/replaced_graph.h"

namespace libknng {

void save_tsv(const Graph& g, const std::string& path, const Work& work) {
  OutputFile file(path);
  require_graph_in_place(file);
  write_edges(file, kTsvHead, {'\t', 0}, g, work);
  file.commit();
}

}  // namespace libknng
