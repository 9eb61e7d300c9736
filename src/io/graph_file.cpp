#include "io/graph_file.h"

#include <cstring>
#include <string_view>

#include "core/error.h"
#include "core/letter_case.h"
#include "io/file.h"
#include "io/graph_knng.h"
#include "io/graph_mtx.h"
#include "io/graph_npz.h"
#include "io/graph_pairs.h"
#include "io/graph_tsv.h"

namespace libknng {
namespace {

// Read are the formats that keep all that a graph knows. A graph from one of the others would be another: without
// metric, marks of rows and statistics, of queries perhaps with fewer columns.
struct GraphFormat {
  const char* name;  // and, behind a dot, the suffix
  void (*save)(const Graph& g, const std::string& path, const Work& work);
  std::string_view first_bytes = {};                                   // of what is read
  Graph (*load)(const std::string& path, const Work& work) = nullptr;  // nullptr: it is written only
};

constexpr GraphFormat kFormats[] = {
    {"knng", &save_knng, {kGraphFileMagic, kGraphFileMagicBytes}, &load_knng},
    {"npz", &save_npz, {"PK\x03\x04", 4}, &load_npz},
    {"mtx", &save_mtx},
    {"tsv", &save_tsv},
    {"ivecs", &save_vecs},  // with .fvecs
    {"ibin", &save_bins},   // with .fbin
};

bool is_written(const GraphFormat&) { return true; }
bool is_read(const GraphFormat& f) { return f.load != nullptr; }

std::string names(const char* before, bool (*wanted)(const GraphFormat& f)) {
  std::string text;
  for (const GraphFormat& f : kFormats)
    if (wanted(f)) text.append(text.empty() ? "" : ", ").append(before).append(f.name);
  return text;
}

bool has_suffix_of(const std::string& path, const GraphFormat& f) {
  return has_suffix(path, std::string(".") + f.name);
}

}  // namespace

void save_graph(const Graph& g, const std::string& path, const char* format, const Work& work) {
  for (const GraphFormat& f : kFormats)
    if (format ? std::strcmp(format, f.name) == 0 : has_suffix_of(path, f)) return f.save(g, path, work);
  if (format)
    fail(KNNG_ERR_OPTION, "format", "format=%s is unknown: graphs are written as %s", shown(format).c_str(),
         names("", is_written).c_str());
  fail(KNNG_ERR_OPTION, "path", "the suffix of %s tells no format: graphs are written as %s", shown(path).c_str(),
       names(".", is_written).c_str());
}

Graph load_graph(const std::string& path, const Work& work) {
  char start[kGraphFileMagicBytes] = {};
  const std::int64_t got = File(path).read_some(0, reinterpret_cast<std::byte*>(start), sizeof start);
  for (const GraphFormat& f : kFormats)
    if (is_read(f) && std::string_view(start, static_cast<std::size_t>(got)).starts_with(f.first_bytes)) {
      Graph g = f.load(path, work);
      g.ids.release_from_budget();
      g.values.release_from_budget();
      g.ties.release_from_budget();
      g.proof.release_from_budget();
      return g;
    }
  for (const GraphFormat& f : kFormats)
    if (!is_read(f) && has_suffix_of(path, f))
      fail(KNNG_ERR_UNSUPPORTED, "path",
           "cannot read a graph from %s: .%s is only written, for other programs; %s keep all that a graph knows",
           shown(path).c_str(), f.name, names(".", is_read).c_str());
  fail(KNNG_ERR_FORMAT, "path", "%s is no graph file: its first bytes are not those of %s", shown(path).c_str(),
       names(".", is_read).c_str());
}

}  // namespace libknng
