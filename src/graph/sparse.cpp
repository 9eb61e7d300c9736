#include "graph/sparse.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/checked.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/nearest_word.h"
#include "graph/shared_neighbours.h"
#include "graph/symmetrise.h"

namespace libknng {
namespace {

// Every list as it is, put in order of columns.
Sparse directed(const Graph& g, const Work& work) {
  work.begin("pairs", g.rows);
  Sparse s;
  s.rows = g.rows;
  s.cols = g.columns;
  s.value_dtype = g.value_dtype;
  s.indptr = Buffer<std::int64_t>(g.rows + 1, std::int64_t{0}, work.budget);
  for (std::int64_t i = 0; i < g.rows; ++i) {
    const std::int64_t* list = g.ids.data() + i * g.width;
    s.indptr[i + 1] = g.width - std::count(list, list + g.width, std::int64_t{-1});
  }
  allocate_entries(s, work);

  const auto size = static_cast<std::size_t>(find_dtype(g.value_dtype)->bytes);
  std::vector<std::pair<std::int64_t, std::int64_t>> order;  // column, entry of the graph
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < g.rows; ++i) {
    order.clear();
    for (std::int64_t e = i * g.width; e < (i + 1) * g.width; ++e)
      if (g.ids[e] >= 0) order.emplace_back(g.ids[e], e);
    std::sort(order.begin(), order.end());
    for (const auto& [col, e] : order) {
      s.col[at] = col;
      std::memcpy(s.values.data() + static_cast<std::size_t>(at) * size,
                  g.values.data() + static_cast<std::size_t>(e) * size, size);
      ++at;
    }
    work.row_done();
  }
  return s;
}

struct Rule {
  const char* name;
  bool square;  // only for graphs of the rows among themselves
  Sparse (*make)(const Graph&, const Work&);
};

constexpr Rule kRules[] = {
    {"directed", false, directed},
    {"union", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::any, Combine::mean, w); }},
    {"union:mean", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::any, Combine::mean, w); }},
    {"union:max", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::any, Combine::max, w); }},
    {"union:min", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::any, Combine::min, w); }},
    {"union:product", true,
     [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::any, Combine::product, w); }},
    {"union:probabilistic", true,
     [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::any, Combine::probabilistic, w); }},
    {"mutual", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::mutual, Combine::mean, w); }},
    {"mutual:mean", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::mutual, Combine::mean, w); }},
    {"mutual:max", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::mutual, Combine::max, w); }},
    {"mutual:min", true, [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::mutual, Combine::min, w); }},
    {"mutual:product", true,
     [](const Graph& g, const Work& w) { return symmetrise(g, Pairs::mutual, Combine::product, w); }},
    {"snn", true, [](const Graph& g, const Work& w) { return shared_neighbours(g, SharedWeight::rank, w); }},
    {"snn:rank", true, [](const Graph& g, const Work& w) { return shared_neighbours(g, SharedWeight::rank, w); }},
    {"snn:number", true, [](const Graph& g, const Work& w) { return shared_neighbours(g, SharedWeight::number, w); }},
    {"snn:jaccard", true, [](const Graph& g, const Work& w) { return shared_neighbours(g, SharedWeight::jaccard, w); }},
};

}  // namespace

void allocate_entries(Sparse& s, const Work& work) {
  for (std::int64_t i = 0; i < s.rows; ++i) s.indptr[i + 1] = checked_add(s.indptr[i], s.indptr[i + 1], "entries");
  const std::int64_t entries = s.indptr[s.rows];
  s.row = Buffer<std::int64_t>(entries, work.budget);
  s.col = Buffer<std::int64_t>(entries, work.budget);
  s.values = Buffer<std::byte>(checked_mul(entries, find_dtype(s.value_dtype)->bytes, "entries"), work.budget);
  for (std::int64_t i = 0; i < s.rows; ++i) std::fill(s.row.data() + s.indptr[i], s.row.data() + s.indptr[i + 1], i);
}

Sparse make_sparse(const Graph& g, std::string_view rule, const Work& work) {
  std::string known;
  for (const Rule& r : kRules) {
    if (rule == r.name) {
      if (r.square && !g.square)
        fail(KNNG_ERR_STATE, "rule", {.given = g.columns, .limit = g.rows},
             "rule=%s needs a graph of the rows among themselves, this is one of %lld queries against %lld rows",
             r.name, static_cast<long long>(g.rows), static_cast<long long>(g.columns));
      Sparse s = r.make(g, work);
      s.indptr.release_from_budget();
      s.row.release_from_budget();
      s.col.release_from_budget();
      s.values.release_from_budget();
      return s;
    }
    known.append(known.empty() ? "" : ", ").append(r.name);
  }
  fail(KNNG_ERR_OPTION, "rule", "unknown rule '%.*s'; there are %s%s",
       static_cast<int>(std::min<std::size_t>(rule.size(), 40)), rule.data(), known.c_str(),
       did_you_mean(rule, known).c_str());
}

}  // namespace libknng
