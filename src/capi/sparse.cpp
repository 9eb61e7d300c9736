// knng/sparse.h
#include "knng/sparse.h"

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/structs.h"

using namespace libknng;

knng_status knng_graph_sparse(const knng_graph* g, const char* rule, knng_sparse** out) {
  return guard([&](const FloatEnv&) {
    require(out, "out") = nullptr;
    *out = new knng_sparse{make_sparse(require(g, "g").with_lists(), &require(rule, "rule"))};
  });
}

knng_status knng_sparse_view(const knng_sparse* s, knng_matrix* indptr, knng_matrix* row, knng_matrix* col,
                             knng_matrix* value) {
  return guard([&](const FloatEnv&) {
    const Sparse& sparse = require(s, "s").sparse;
    show(indptr, KNNG_I64, sparse.rows + 1, 1, sparse.indptr.data(), "indptr");
    show(row, KNNG_I64, sparse.entries(), 1, sparse.row.data(), "row");
    show(col, KNNG_I64, sparse.entries(), 1, sparse.col.data(), "col");
    show(value, sparse.value_dtype, sparse.entries(), 1, sparse.values.data(), "value");
  });
}

void knng_sparse_destroy(knng_sparse* s) { delete s; }
