#include "graph/copy.h"

#include <cmath>

#include "core/dtype.h"
#include "core/error.h"
#include "graph/integers.h"

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
  if (dtype == KNNG_I16 || dtype == KNNG_U16 || dtype == KNNG_I32 || dtype == KNNG_I64) return;
  fail(KNNG_ERR_ARGUMENT, "ids", {.given = dtype},
       "ids: dtype 0x%03x (%s) is no type for ids: int16, uint16, int32 and int64 are", static_cast<unsigned>(dtype),
       dtype_name(dtype));
}

void require_value_dtype(std::int32_t dtype) {
  if (dtype == KNNG_F64 || dtype == KNNG_F32 || dtype == KNNG_F16 || dtype == KNNG_BF16) return;
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
      if (!std::in_range<T>(id))
        fail(KNNG_ERR_RANGE, "ids", {.row = i, .col = t, .given = id, .limit = broken_limit<T>(id)},
             "ids: row %lld, column %lld is %lld%s, which %s cannot hold: its limit is %lld", static_cast<ll>(i),
             static_cast<ll>(t), static_cast<ll>(id), id < base ? " (no neighbour)" : "", dtype_name(to.dtype),
             static_cast<ll>(broken_limit<T>(id)));
      row[t * to.col_stride] = static_cast<T>(id);
    }
  }
}

float round_to(double x, const float*) noexcept { return static_cast<float>(x); }
double round_to(double x, const double*) noexcept { return x; }
Half round_to(double x, const Half*) noexcept { return half_from_double(x); }
BFloat round_to(double x, const BFloat*) noexcept { return bfloat_from_double(x); }

template <class T>
void copy_values_as(const Graph& g, const MutableMatrixView& to) {
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < g.rows; ++i) {
    T* row = reinterpret_cast<T*>(to.data) + i * to.row_stride;
    for (std::int64_t t = 0; t < g.width; ++t) {
      const double x = g.value(from++);
      const T rounded = round_to(x, static_cast<const T*>(nullptr));
      if (std::isinf(to_double(rounded)) && !std::isinf(x))
        fail(KNNG_ERR_RANGE, "values", {.row = i, .col = t},
             "values: row %lld, column %lld is %.17g, which is too large for %s", static_cast<ll>(i),
             static_cast<ll>(t), x, dtype_name(to.dtype));
      row[t * to.col_stride] = rounded;
    }
  }
}

}  // namespace

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
  if (ids) visit_integer_dtype(ids->dtype, "ids", [&]<class T>(T*) { copy_ids_as<T>(g, base, *ids); });
  if (!values) return;
  switch (values->dtype) {
    case KNNG_F64: return copy_values_as<double>(g, *values);
    case KNNG_F32: return copy_values_as<float>(g, *values);
    case KNNG_F16: return copy_values_as<Half>(g, *values);
    default: return copy_values_as<BFloat>(g, *values);
  }
}

}  // namespace libknng
