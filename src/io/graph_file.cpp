#include "io/graph_file.h"

#include <cstring>
#include <string_view>

#include "core/error.h"
#include "core/letter_case.h"
#include "io/file.h"
#include "io/graph_knng.h"
#include "io/graph_npz.h"

namespace libknng {
namespace {

struct GraphFormat {
  const char* name;  // and, behind a dot, the suffix
  std::string_view first_bytes;
  void (*save)(const Graph& g, const std::string& path, const Work& work);
  Graph (*load)(const std::string& path, const Work& work);
};

constexpr GraphFormat kFormats[] = {
    {"knng", {kGraphFileMagic, kGraphFileMagicBytes}, &save_knng, &load_knng},
    {"npz", {"PK\x03\x04", 4}, &save_npz, &load_npz},
};

std::string names(const char* before) {
  std::string text;
  for (const GraphFormat& f : kFormats) text.append(text.empty() ? "" : ", ").append(before).append(f.name);
  return text;
}

}  // namespace

void save_graph(const Graph& g, const std::string& path, const char* format, const Work& work) {
  for (const GraphFormat& f : kFormats)
    if (format ? std::strcmp(format, f.name) == 0 : has_suffix(path, std::string(".") + f.name))
      return f.save(g, path, work);
  if (format)
    fail(KNNG_ERR_OPTION, "format", "format=%s is unknown: graphs are written as %s", shown(format).c_str(),
         names("").c_str());
  fail(KNNG_ERR_OPTION, "path", "the suffix of %s tells no format: graphs are written as %s", shown(path).c_str(),
       names(".").c_str());
}

Graph load_graph(const std::string& path, const Work& work) {
  char start[kGraphFileMagicBytes] = {};
  const std::int64_t got = File(path).read_some(0, reinterpret_cast<std::byte*>(start), sizeof start);
  for (const GraphFormat& f : kFormats)
    if (std::string_view(start, static_cast<std::size_t>(got)).starts_with(f.first_bytes)) {
      Graph g = f.load(path, work);
      g.ids.release_from_budget();
      g.values.release_from_budget();
      g.ties.release_from_budget();
      g.proof.release_from_budget();
      return g;
    }
  fail(KNNG_ERR_FORMAT, "path", "%s is no graph file: its first bytes are not those of %s", shown(path).c_str(),
       names(".").c_str());
}

}  // namespace libknng
