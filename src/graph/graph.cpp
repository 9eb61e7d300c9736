#include "graph/graph.h"

#include <string_view>

#include "core/error.h"

namespace libknng {
namespace {

struct TextName {
  const char* name;
  std::string GraphText::*text;
};

constexpr TextName kTexts[] = {
    {"metric", &GraphText::metric},           {"precision", &GraphText::precision}, {"engine", &GraphText::engine},
    {"selector", &GraphText::selector},       {"device", &GraphText::device},       {"version", &GraphText::version},
    {"fingerprint", &GraphText::fingerprint}, {"value", &GraphText::value},         {"self", &GraphText::self},
};

}  // namespace

const std::string& graph_text(const Graph& g, const char* name) {
  std::string known;
  for (const TextName& t : kTexts) {
    if (std::string_view(name) == t.name) return g.text.*t.text;
    known.append(known.empty() ? "" : ", ").append(t.name);
  }
  fail(KNNG_ERR_OPTION, "name", "unknown text '%.40s'; there are %s", name, known.c_str());
}

}  // namespace libknng
