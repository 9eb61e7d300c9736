#include "graph/graph.h"

#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/nearest_word.h"

namespace libknng {
namespace {

constexpr GraphTextField kTexts[] = {
    {"metric", &GraphText::metric},       {"p", &GraphText::p},
    {"precision", &GraphText::precision}, {"engine", &GraphText::engine},
    {"selector", &GraphText::selector},   {"device", &GraphText::device},
    {"version", &GraphText::version},     {"fingerprint", &GraphText::fingerprint},
    {"value", &GraphText::value},         {"self", &GraphText::self},
};

}  // namespace

void Graph::clear() {
  Graph shape;
  shape.rows = rows;
  shape.columns = columns;
  shape.width = width;
  shape.square = square;
  shape.self_first = self_first;
  *this = std::move(shape);
}

std::span<const GraphTextField> graph_texts() noexcept { return kTexts; }

const std::string& graph_text(const Graph& g, const char* name) {
  std::string known;
  for (const GraphTextField& t : kTexts) {
    if (std::string_view(name) == t.name) return g.text.*t.text;
    known.append(known.empty() ? "" : ", ").append(t.name);
  }
  fail(KNNG_ERR_OPTION, "name", "unknown text '%.40s'; there are %s%s", name, known.c_str(),
       did_you_mean(name, known).c_str());
}

}  // namespace libknng
