#include "io/describe.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/nearest_word.h"
#include "io/graph_facts.h"
#include "metric/metric.h"
#include "options/options.h"

namespace libknng {
namespace {

using ll = long long;

// One mark for each row: those that are given, which are at most `most`, else those that the graph has.
Buffer<std::uint8_t> marks(const MatrixView* stated, const Buffer<std::uint8_t>& had, int most, const char* argument) {
  const std::int64_t rows = had.size();
  Buffer<std::uint8_t> to(rows);
  if (!stated) {
    std::memcpy(to.data(), had.data(), static_cast<std::size_t>(had.bytes()));
    return to;
  }
  if (stated->dtype != KNNG_U8)
    fail(KNNG_ERR_ARGUMENT, argument, {.given = stated->dtype},
         "%s: dtype 0x%03x (%s) is no type for marks here: uint8 is", argument, static_cast<unsigned>(stated->dtype),
         dtype_name(stated->dtype));
  if (stated->rows != rows || stated->cols != 1)
    fail(KNNG_ERR_ARGUMENT, argument,
         {.given = stated->rows != rows ? stated->rows : stated->cols, .limit = stated->rows != rows ? rows : 1},
         "%s: %lld x %lld, but the graph has %lld rows, with one mark each", argument, static_cast<ll>(stated->rows),
         static_cast<ll>(stated->cols), static_cast<ll>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    to[i] = static_cast<std::uint8_t>(stated->data[i * stated->row_stride]);
    if (to[i] > most)
      fail(KNNG_ERR_DATA, argument, {.row = i, .col = 0, .given = to[i], .limit = most},
           "%s: %d is no mark, the last is %d", argument, to[i], most);
  }
  return to;
}

// Lends the lists of one graph to another for as long as this lives.
class Loan {
 public:
  Loan(Graph& from, Graph& to) noexcept : from_(from), to_(to) { trade(); }
  ~Loan() { trade(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

 private:
  void trade() noexcept {
    std::swap(from_.ids, to_.ids);
    std::swap(from_.values, to_.values);
  }
  Graph& from_;
  Graph& to_;
};

// Texts that are settings are written as settings are, and refused as those are (KNNG_ERR_OPTION).
void make_settings_of(GraphText& text) {
  Settings settings;
  const auto normal = [&](const char* key, std::string& value) {
    settings.set(key, value);
    value = settings.get(key);
  };
  normal("value", text.value);
  if (!text.p.empty()) normal("p", text.p);
  if (text.metric == "unknown") return;
  normal("metric", text.metric);
  if (text.metric == "minkowski" && (text.p.empty() || text.p == "auto")) text.p = std::string("2");
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const GraphTextField& field : graph_texts()) names.push_back(std::string("text.") + field.name);
  for (const StatInfo& stat : stat_table()) names.push_back(std::string("stat.") + stat.name);
  return names;
}

// Names that are not known are of a later version, but for mistakes: those that lack what stands before a known one,
// and those that are one edit away from it.
std::string objection_to_names(std::string_view facts) {
  if (std::any_of(facts.begin(), facts.end(), [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }))
    return "a line of its facts has a control character";
  const std::vector<std::string> known = known_names();
  while (!facts.empty()) {
    const std::string_view name = facts.substr(0, facts.find_first_of("=\n"));
    const auto lacks = [&](const char* before) {
      return "its fact " + std::string(name) + " is named " + before + std::string(name);
    };
    for (const GraphTextField& field : graph_texts())
      if (name == field.name) return lacks("text.");
    for (const StatInfo& stat : stat_table())
      if (name == stat.name && name != "columns") return lacks("stat.");
    for (const std::string& meant : known)
      if (edits(name, meant) == 1)
        return "its fact " + std::string(name) + " is not known: did you mean " + meant + "?";
    facts.remove_prefix(std::min(facts.find('\n'), facts.size() - 1) + 1);
  }
  return "";
}

Objection objection_to(const Graph& stated, const Graph& g) {
  if (stated.columns != g.columns || stated.square != g.square || stated.self_first != g.self_first)
    return {"columns, square and self_first are not those of the graph"};
  if (!stated.text.p.empty() && stated.text.metric != "minkowski") return {"p goes with metric minkowski alone"};
  if (stated.text.value == "similarity" && stated.text.metric != "unknown" &&
      !find_metric(stated.text.metric, 2).similarity)
    return {"value similarity goes with metric cosine, correlation, spearman or inner_product"};
  return graph_objection(stated);
}

}  // namespace

void describe_graph(Graph& g, const char* facts, const MatrixView* ties, const MatrixView* proof) {
  if (g.text.version != "unknown")
    fail(KNNG_ERR_STATE, "g",
         "g was made by version %s: only an imported graph whose text \"version\" is \"unknown\" can be described",
         g.text.version.c_str());
  Graph stated;
  stated.rows = g.rows;
  stated.columns = g.columns;
  stated.width = g.width;
  stated.square = g.square;
  stated.self_first = g.self_first;
  stated.value_dtype = g.value_dtype;
  stated.stats = g.stats;
  stated.text = g.text;
  stated.ties = marks(ties, g.ties, 1, "ties");
  stated.proof = marks(proof, g.proof, static_cast<int>(Proof::fp64), "proof");
  // Marks that are told are counted anew, unless the facts say how many there are.
  if (ties) stated.stats.forget(Stat::ties_at_k);
  if (proof) stated.stats.forget(Stat::proved);
  Objection objection{objection_to_names(facts)};
  if (objection.text.empty()) objection.text = read_facts(facts, stated);
  if (objection.text.empty()) {
    make_settings_of(stated.text);
    const Loan lists(g, stated);
    objection = objection_to(stated, g);
  }
  if (!objection.text.empty()) fail(KNNG_ERR_DATA, "facts", objection.where, "facts: %s", objection.text.c_str());
  count_marks(stated);
  // Whoever tells that no row ends at a tie has looked.
  if (ties && !stated.stats.knows(Stat::ties_at_k)) stated.stats[Stat::ties_at_k] = 0;
  if (proof && !stated.stats.knows(Stat::proved)) stated.stats[Stat::proved] = 0;
  std::swap(g.stats, stated.stats);
  std::swap(g.text, stated.text);
  std::swap(g.ties, stated.ties);
  std::swap(g.proof, stated.proof);
}

}  // namespace libknng
