#include "io/graph_tsv.h"

#include "io/edge_lines.h"
#include "io/file.h"

namespace libknng {

void save_tsv(const Graph& g, const std::string& path, const Work& work) {
  OutputFile file(path);
  write_edges(file, "source\ttarget\tweight\n", {'\t', 0}, g, work);
  file.commit();
}

}  // namespace libknng
