#include "graph/copy.h"

#include "core/dtype.h"
#include "core/error.h"
#include "graph/integers.h"
#include "graph/narrow.h"

namespace libknng {
namespace {

using ll = long long;

void require_shape(const Graph& g, const MutableMatrixView& m, const char* argument) {
  if (m.rows == g.rows && m.cols == g.width) return;
  fail(KNNG_ERR_ARGUMENT, argument,
       {.given = m.rows != g.rows ? m.rows : m.cols, .limit = m.rows != g.rows ? g.rows : g.width},
       "%s: %lld x %lld, but the graph is %lld x %lld", argument, static_cast<ll>(m.rows), static_cast<ll>(m.cols),
       static_cast<ll>(g.rows), static_cast<ll>(g.width));
}

void require_id_dtype(std::int32_t dtype) {
  if (is_id_dtype(dtype)) return;
  fail(KNNG_ERR_ARGUMENT, "ids", {.given = dtype},
       "ids: dtype 0x%03x (%s) is no type for ids: int16, uint16, int32 and int64 are", static_cast<unsigned>(dtype),
       dtype_name(dtype));
}

void require_value_dtype(std::int32_t dtype) {
  if (is_value_dtype(dtype)) return;
  fail(KNNG_ERR_ARGUMENT, "values", {.given = dtype},
       "values: dtype 0x%03x (%s) is no type for values: float64, float32, float16 and bfloat16 are",
       static_cast<unsigned>(dtype), dtype_name(dtype));
}

template <class T>
void copy_ids_as(const Graph& g, std::int32_t base, const MutableMatrixView& to) {
  const std::int64_t* from = g.ids.data();
  for (std::int64_t i = 0; i < g.rows; ++i) {
    T* row = reinterpret_cast<T*>(to.data) + i * to.row_stride;
    for (std::int64_t t = 0; t < g.width; ++t) {
      const std::int64_t id = *from++ + base;
      if (!narrow_id(id, row[t * to.col_stride])) refuse_id(id, base, i, t, to.dtype);
    }
  }
}

template <class T>
void copy_values_as(const Graph& g, const MutableMatrixView& to) {
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < g.rows; ++i) {
    T* row = reinterpret_cast<T*>(to.data) + i * to.row_stride;
    for (std::int64_t t = 0; t < g.width; ++t) {
      const double x = g.value(from++);
      if (!narrow_value(x, row[t * to.col_stride])) refuse_value(x, i, t, to.dtype);
    }
  }
}

}  // namespace

void refuse_id(std::int64_t id, std::int32_t base, std::int64_t row, std::int64_t col, std::int32_t dtype) {
  const std::int64_t limit = visit_id_dtype(dtype, [&]<class T>(T*) { return broken_limit<T>(id); });
  fail(KNNG_ERR_RANGE, "ids", {.row = row, .col = col, .given = id, .limit = limit},
       "ids: %lld%s is what %s cannot hold: its limit is %lld", static_cast<ll>(id), id < base ? " (no neighbour)" : "",
       dtype_name(dtype), static_cast<ll>(limit));
}

void refuse_value(double x, std::int64_t row, std::int64_t col, std::int32_t dtype) {
  fail(KNNG_ERR_RANGE, "values", {.row = row, .col = col}, "values: %.17g is too large for %s", x, dtype_name(dtype));
}

void require_copy(const Graph& g, std::int32_t base, const MutableMatrixView* ids, const MutableMatrixView* values) {
  if (base != 0 && base != 1)
    fail(KNNG_ERR_RANGE, "base", {.given = base, .limit = 1}, "base=%d: ids count from 0 or 1", base);
  if (ids) {
    require_id_dtype(ids->dtype);
    require_shape(g, *ids, "ids");
  }
  if (values) {
    require_value_dtype(values->dtype);
    require_shape(g, *values, "values");
  }
}

void copy_graph(const Graph& g, std::int32_t base, const MutableMatrixView* ids, const MutableMatrixView* values) {
  require_copy(g, base, ids, values);
  if (ids) visit_id_dtype(ids->dtype, [&]<class T>(T*) { copy_ids_as<T>(g, base, *ids); });
  if (values) visit_value_dtype(values->dtype, [&]<class T>(T*) { copy_values_as<T>(g, *values); });
}

}  // namespace libknng
