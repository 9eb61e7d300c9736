#include "graph/import.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/checked.h"
#include "core/dtype.h"
#include "core/error.h"

namespace libknng {
namespace {

using ll = long long;

void require_shapes(const MatrixView& ids, const MatrixView* values) {
  if (ids.dtype != KNNG_I32 && ids.dtype != KNNG_I64)
    fail(KNNG_ERR_ARGUMENT, "ids", {.given = ids.dtype},
         "ids: dtype 0x%03x (%s) is no type for ids here: int32 and int64 are", static_cast<unsigned>(ids.dtype),
         dtype_name(ids.dtype));
  if (ids.rows < 1 || ids.cols < 1)
    fail(KNNG_ERR_ARGUMENT, "ids", {.given = std::min(ids.rows, ids.cols), .limit = 1},
         "ids: %lld x %lld is empty; at least 1 x 1 is needed", static_cast<ll>(ids.rows), static_cast<ll>(ids.cols));
  if (!values) return;
  if (values->dtype != KNNG_F32 && values->dtype != KNNG_F64)
    fail(KNNG_ERR_ARGUMENT, "values", {.given = values->dtype},
         "values: dtype 0x%03x (%s) is no type for values here: float32 and float64 are",
         static_cast<unsigned>(values->dtype), dtype_name(values->dtype));
  if (values->rows != ids.rows || values->cols != ids.cols)
    fail(KNNG_ERR_ARGUMENT, "values",
         {.given = values->rows != ids.rows ? values->rows : values->cols,
          .limit = values->rows != ids.rows ? ids.rows : ids.cols},
         "values: %lld x %lld, but ids are %lld x %lld", static_cast<ll>(values->rows), static_cast<ll>(values->cols),
         static_cast<ll>(ids.rows), static_cast<ll>(ids.cols));
}

template <class T>
void copy_packed(const MatrixView& from, auto* to) {
  for (std::int64_t i = 0; i < from.rows; ++i) {
    const T* row = reinterpret_cast<const T*>(from.data) + i * from.row_stride;
    for (std::int64_t t = 0; t < from.cols; ++t) *to++ = row[t * from.col_stride];
  }
}

// Throws if row `i` names a point twice. `sorted` is scratch for one row.
void require_distinct(const std::int64_t* row, std::int64_t width, std::int64_t i, std::int32_t base,
                      std::int64_t* sorted) {
  std::int64_t* end = std::remove_copy(row, row + width, sorted, std::int64_t{-1});
  std::sort(sorted, end);
  if (std::adjacent_find(sorted, end) == end) return;
  for (std::int64_t t = 1; t < width; ++t) {
    if (row[t] < 0) continue;
    const std::int64_t first = std::find(row, row + t, row[t]) - row;
    if (first == t) continue;
    fail(KNNG_ERR_DATA, "ids", {.row = i, .col = t, .given = row[t] + base},
         "ids: %lld is there twice; ids of a row must differ", static_cast<ll>(row[t] + base));
  }
}

// Takes ids, counted from 0 already, as they may be: -1 to `last`. Returns the largest, -1 if there is none.
std::int64_t check_ids(const Buffer<std::int64_t>& ids, std::int64_t rows, std::int64_t width, std::int32_t base,
                       std::int64_t last, const Work& work) {
  std::int64_t largest = -1;
  Buffer<std::int64_t> sorted(width, work.budget);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t* row = ids.data() + i * width;
    for (std::int64_t t = 0; t < width; ++t) {
      if (row[t] < -1 || row[t] > last)
        fail(KNNG_ERR_DATA, "ids",
             {.row = i, .col = t, .given = row[t] + base, .limit = row[t] < -1 ? base - 1 : last + base},
             "ids: %lld is not in %d to %lld; %d stands for no neighbour", static_cast<ll>(row[t] + base), base,
             static_cast<ll>(last + base), base - 1);
      largest = std::max(largest, row[t]);
    }
    require_distinct(row, width, i, base, sorted.data());
    work.row_done();
  }
  return largest;
}

void require_meaning(const IdMeaning& of, std::int64_t rows) {
  if (of.base != 0 && of.base != 1)
    fail(KNNG_ERR_RANGE, "base", {.given = of.base, .limit = 1}, "base=%d: ids count from 0 or 1", of.base);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() - 1;
  if (of.columns < 1 || of.columns > most)
    fail(KNNG_ERR_RANGE, "columns", {.given = of.columns, .limit = of.columns < 1 ? 1 : most},
         "columns=%lld is not in 1 to %lld", static_cast<ll>(of.columns), static_cast<ll>(most));
  if (of.same_points && of.columns != rows)
    fail(KNNG_ERR_RANGE, "columns", {.given = of.columns, .limit = rows},
         "columns=%lld: with same_points they are the %lld rows", static_cast<ll>(of.columns), static_cast<ll>(rows));
}

void check_values(const Graph& g) {
  for (std::int64_t e = 0; e < g.entries(); ++e) {
    const double x = g.value(e);
    const bool missing = g.ids[e] < 0;
    if (missing ? x == HUGE_VAL : !std::isnan(x)) continue;
    const std::int64_t row = e / g.width, col = e % g.width;
    if (std::isnan(x)) fail(KNNG_ERR_DATA, "values", {.row = row, .col = col}, "values: a value is NaN");
    fail(KNNG_ERR_DATA, "values", {.row = row, .col = col},
         "values: %g stands where the id says that there is no neighbour: it must be +inf there", x);
  }
}

void zero_values(Lists& l) {
  float* value = reinterpret_cast<float*>(l.values.data());
  for (std::int64_t e = 0; e < l.ids.size(); ++e)
    value[e] = l.ids[e] < 0 ? std::numeric_limits<float>::infinity() : 0.0f;
}

bool first_entries_are_self(const Graph& g) {
  for (std::int64_t i = 0; i < g.rows; ++i)
    if (g.ids[i * g.width] != i) return false;
  return true;
}

}  // namespace

Graph adopt_lists(Lists lists, const std::optional<IdMeaning>& meaning, const Work& work) {
  work.begin("check", lists.rows);
  Graph g;
  g.rows = lists.rows;
  g.width = lists.width;
  g.ids = std::move(lists.ids);
  g.value_dtype = lists.value_dtype;
  g.values = std::move(lists.values);
  const std::int64_t largest =
      check_ids(g.ids, g.rows, g.width, meaning ? meaning->base : 0,
                meaning ? meaning->columns - 1 : std::numeric_limits<std::int64_t>::max() - 1, work);
  g.square = meaning ? meaning->same_points : largest < g.rows;
  g.columns = meaning ? meaning->columns : g.square ? g.rows : largest + 1;
  g.self_first = g.square && g.width > 1 && first_entries_are_self(g);
  check_values(g);

  g.ties = Buffer<std::uint8_t>(g.rows, std::uint8_t{0}, work.budget);
  g.proof = Buffer<std::uint8_t>(g.rows, static_cast<std::uint8_t>(Proof::none), work.budget);
  g.stats = Stats::unknown();
  g.stats[Stat::rows] = static_cast<double>(g.rows);
  g.stats[Stat::columns] = static_cast<double>(g.columns);
  for (std::string* text : {&g.text.metric, &g.text.precision, &g.text.engine, &g.text.selector, &g.text.device,
                            &g.text.version, &g.text.fingerprint})
    *text = "unknown";
  g.text.value = "distance";
  g.text.self = g.self_first ? "first" : "exclude";
  return g;
}

Graph import_graph(const MatrixView& ids, const MatrixView* values, const std::optional<IdMeaning>& meaning) {
  require_shapes(ids, values);
  if (meaning) require_meaning(*meaning, ids.rows);
  Lists lists;
  lists.rows = ids.rows;
  lists.width = ids.cols;
  const std::int64_t entries = checked_mul(ids.rows, ids.cols, "ids");

  lists.ids = Buffer<std::int64_t>(entries);
  if (ids.dtype == KNNG_I32)
    copy_packed<std::int32_t>(ids, lists.ids.data());
  else
    copy_packed<std::int64_t>(ids, lists.ids.data());
  constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  if (meaning && meaning->base != 0)
    for (std::int64_t& id : lists.ids) id = id == smallest ? smallest : id - meaning->base;

  lists.value_dtype = values ? values->dtype : KNNG_F32;
  lists.values = Buffer<std::byte>(checked_mul(entries, find_dtype(lists.value_dtype)->bytes, "values"));
  if (!values)
    zero_values(lists);
  else if (values->dtype == KNNG_F32)
    copy_packed<float>(*values, reinterpret_cast<float*>(lists.values.data()));
  else
    copy_packed<double>(*values, reinterpret_cast<double*>(lists.values.data()));
  return adopt_lists(std::move(lists), meaning);
}

}  // namespace libknng
