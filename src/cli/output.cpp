// A rehearsal: a graph of two rows is saved under the name, by the very call that comes at the end, which stops before
// the file is there. So the name, the directory, the format and the formats library are tried, and nothing changes.
#include "output.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "failure.h"
#include "library.h"
#include "words.h"

namespace cli {
namespace {

Graph two_rows(std::int64_t points) {
  static constexpr std::int64_t kIds[] = {1, 0};
  const knng_matrix ids = knng_packed(KNNG_I64, 2, 1, kIds);
  knng_graph* raw = nullptr;
  check(knng_graph_import(&raw, &ids, nullptr, 0, points, 0, error()));
  return Graph(raw);
}

// Where the library writes the values of a pair; "" for a format of one file.
std::string second_file(std::string out) {
  for (const char* suffix : {".ivecs", ".ibin"}) {
    if (!has_suffix(out, suffix)) continue;
    char& letter = out[out.size() - std::string_view(suffix).size() + 1];
    letter = letter == 'I' ? 'F' : 'f';
    return out;
  }
  return "";
}

// By whatever name or link.
bool same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// goes: what stands between the name that the user gave and the file that is to be read.
void require_no_input(const Arguments& a, const std::string& file, const char* goes) {
  std::vector<std::string> inputs = a.data;
  inputs.push_back(a.queries);
  inputs.push_back(a.graph);
  for (const std::string& input : inputs)
    if (same_file(file, input))
      throw Failure(kUsage, "--output " + a.out + goes + " the file '" + input + "', which is to be read");
}

}  // namespace

std::string saved_as(const std::string& out) {
  const std::string second = second_file(out);
  return second.empty() ? out : out + " and " + second;
}

void require_writable(const Arguments& a, std::int64_t points) {
  require_no_input(a, a.out, " is");
  require_no_input(a, second_file(a.out), ": its values would replace");
  const Graph graph = two_rows(std::max<std::int64_t>(points, 2));
  static constexpr std::int32_t kStop = 1;
  knng_control control{};
  control.struct_size = sizeof control;
  control.stop = &kStop;
  const knng_status status = knng_graph_save(graph.get(), a.out.c_str(), nullptr, &control, error());
  if (status != KNNG_ERR_CANCELLED) check(status);
}

}  // namespace cli
