#include "graph/rows.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/nearest_word.h"
#include "graph/components.h"
#include "graph/integers.h"

namespace libknng {
namespace {

using ll = long long;

void require_shape(const MutableMatrixView& out, std::int64_t count) {
  if (out.rows == count && out.cols == 1) return;
  fail(KNNG_ERR_ARGUMENT, "out",
       {.given = out.rows != count ? out.rows : out.cols, .limit = out.rows != count ? count : 1},
       "out: %lld x %lld, but %lld x 1 numbers are to be written", static_cast<ll>(out.rows), static_cast<ll>(out.cols),
       static_cast<ll>(count));
}

template <class Number>
void store(const Buffer<Number>& numbers, const MutableMatrixView& out) {
  visit_integer_dtype(out.dtype, "out", [&]<class T>(T*) {
    T* to = reinterpret_cast<T*>(out.data);
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t number{numbers[i]};
      if (!std::in_range<T>(number))
        fail(KNNG_ERR_RANGE, "out", {.row = i, .col = 0, .given = number, .limit = broken_limit<T>(number)},
             "out: %lld is what %s cannot hold: its limit is %lld", static_cast<ll>(number), dtype_name(out.dtype),
             static_cast<ll>(broken_limit<T>(number)));
      to[i * out.row_stride] = static_cast<T>(number);
    }
  });
}

struct RowNumber {
  const char* name;
  bool of_lists;
  std::int64_t Graph::*count;
  void (*run)(const Graph&, const MutableMatrixView&);
};

void store_ties(const Graph& g, const MutableMatrixView& out) {
  if (!g.stats.knows(Stat::ties_at_k))
    fail(KNNG_ERR_STATE, "what",
         "ties: the graph came from elsewhere, where nobody looked for ties at the last neighbour");
  store(g.ties, out);
}

constexpr RowNumber kRowNumbers[] = {
    {"ties", false, &Graph::rows, store_ties},
    {"proof", false, &Graph::rows, [](const Graph& g, const MutableMatrixView& out) { store(g.proof, out); }},
    {"indegree", true, &Graph::columns, [](const Graph& g, const MutableMatrixView& out) { store(in_degree(g), out); }},
    {"component", true, &Graph::rows, [](const Graph& g, const MutableMatrixView& out) { store(components(g), out); }},
};

}  // namespace

bool reads_lists(std::string_view what) noexcept {
  return std::any_of(std::begin(kRowNumbers), std::end(kRowNumbers),
                     [what](const RowNumber& r) { return what == r.name && r.of_lists; });
}

void graph_rows(const Graph& g, std::string_view what, const MutableMatrixView& out) {
  std::string known;
  for (const RowNumber& r : kRowNumbers) {
    if (what == r.name) {
      require_shape(out, g.*r.count);
      // A type that cannot be written is refused before the work is done.
      visit_integer_dtype(out.dtype, "out", [](auto*) {});
      return r.run(g, out);
    }
    known.append(known.empty() ? "" : ", ").append(r.name);
  }
  fail(KNNG_ERR_OPTION, "what", "what=%.*s is no number of a row; there are %s%s",
       static_cast<int>(std::min<std::size_t>(what.size(), 40)), what.data(), known.c_str(),
       did_you_mean(what, known).c_str());
}

}  // namespace libknng
