// A rehearsal: a graph of two rows is saved under the name, by the very call that comes at the end, which stops before
// the file is there. So the name, the directory, the format and the formats library are tried, and nothing changes.
#include "output.h"

#include <sys/stat.h>

#include <cstdint>

#include "failure.h"

namespace cli {
namespace {

Graph two_rows() {
  static constexpr std::int64_t kIds[] = {1, 0};
  const knng_matrix ids = knng_packed(KNNG_I64, 2, 1, kIds);
  knng_graph* raw = nullptr;
  check(knng_graph_import(&raw, &ids, nullptr, 0, 2, 1, error()));
  return Graph(raw);
}

// By whatever name or link.
bool same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

void require_other_file(const std::string& out, const std::string& input) {
  if (same_file(out, input))
    throw Failure(kUsage, "--output " + out + " is the file '" + input + "', which is to be read");
}

}  // namespace

void require_writable(const Arguments& a) {
  for (const std::string& input : a.data) require_other_file(a.out, input);
  require_other_file(a.out, a.queries);
  require_other_file(a.out, a.graph);
  const Graph graph = two_rows();
  static constexpr std::int32_t kStop = 1;
  knng_control control{};
  control.struct_size = sizeof control;
  control.stop = &kStop;
  const knng_status status = knng_graph_save(graph.get(), a.out.c_str(), nullptr, &control, error());
  if (status != KNNG_ERR_CANCELLED) check(status);
}

}  // namespace cli
