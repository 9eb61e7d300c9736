// knng/sparse.h
#include "knng/sparse.h"

#include <algorithm>
#include <optional>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/structs.h"
#include "core/monitor.h"
#include "graph/sparse_copy.h"

using namespace libknng;

knng_status knng_graph_sparse(const knng_graph* g, const char* rule, const knng_control* c, knng_sparse** out,
                              knng_error* error) {
  return guard(error, out, [&](const FloatEnv& env) {
    const knng_control control = read_control_with_limit(c);
    Monitor monitor(control, env);
    Budget budget = budget_of(control);
    const Work work{&budget, &monitor};
    *out = new knng_sparse{make_sparse(require(g, "g").with_lists(work), &require(rule, "rule"), work)};
  });
}

knng_status knng_sparse_shape(const knng_sparse* s, int64_t* rows, int64_t* cols, int64_t* entries, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Sparse& sparse = require(s, "s").sparse;
    if (rows) *rows = sparse.rows;
    if (cols) *cols = sparse.cols;
    if (entries) *entries = sparse.entries();
  });
}

knng_status knng_sparse_view(const knng_sparse* s, knng_matrix* indptr, knng_matrix* row, knng_matrix* col,
                             knng_matrix* value, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Sparse& sparse = require(s, "s").sparse;
    require_distinct({{indptr, "indptr"}, {row, "row"}, {col, "col"}, {value, "value"}});
    show(indptr, KNNG_I64, sparse.rows + 1, 1, sparse.indptr.data(), "indptr");
    show(row, KNNG_I64, sparse.entries(), 1, sparse.row.data(), "row");
    show(col, KNNG_I64, sparse.entries(), 1, sparse.col.data(), "col");
    show(value, sparse.value_dtype, sparse.entries(), 1, sparse.values.data(), "value");
  });
}

knng_status knng_sparse_copy(const knng_sparse* s, int32_t base, knng_matrix* indptr, knng_matrix* row,
                             knng_matrix* col, knng_matrix* value, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Sparse& sparse = require(s, "s").sparse;
    if (base != 0 && base != 1)
      fail(KNNG_ERR_RANGE, "base", {.given = base, .limit = 1}, "base=%d: rows and columns count from 0 or 1", base);
    static constexpr const char* kNames[] = {"indptr", "row", "col", "value"};
    std::optional<OutputMatrix> outputs[4];
    const auto open = [&](int i, const knng_matrix* m, std::int64_t count) {
      const char* const name = kNames[i];
      if (!m || (count == 0 && read_struct(m, offsetof(knng_matrix, release), name).rows == 0)) return;
      require_numbers(outputs[i].emplace(m, name).target(), std::max<std::int64_t>(count, 1), i == 3, name);
      for (int j = 0; j < i; ++j)
        if (outputs[j]) require_apart(outputs[j]->target(), kNames[j], outputs[i]->target(), name);
    };
    open(0, indptr, sparse.rows + 1);
    open(1, row, sparse.entries());
    open(2, col, sparse.entries());
    open(3, value, sparse.entries());
    const auto deliver = [&](int i, auto&& copy) {
      if (!outputs[i]) return;
      copy(outputs[i]->view());
      outputs[i]->deliver();
    };
    deliver(0, [&](const MutableMatrixView& to) { copy_numbers(sparse.indptr, base, to, "indptr"); });
    if (sparse.entries() == 0) return;
    deliver(1, [&](const MutableMatrixView& to) { copy_numbers(sparse.row, base, to, "row"); });
    deliver(2, [&](const MutableMatrixView& to) { copy_numbers(sparse.col, base, to, "col"); });
    deliver(3, [&](const MutableMatrixView& to) { copy_values(sparse, to); });
  });
}

void knng_sparse_destroy(knng_sparse* s) { delete s; }
