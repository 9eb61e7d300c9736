/* Results: lists of neighbours, numbers and texts of a graph, sparse matrices, and graphs of R given back. */
#include "knng_r.h"
#include "routines.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static knng_matrix by_columns(int32_t dtype, SEXP x, void* data) {
  knng_matrix m = knng_packed(dtype, Rf_nrows(x), Rf_ncols(x), data);
  m.row_stride = 1;
  m.col_stride = m.rows;
  return m;
}

/* list(id, dist): R matrices that the library writes itself. */
SEXP knng_r_lists(SEXP graph) {
  static const char* const names[] = {"id", "dist"};
  knng_error error = knng_no_error();
  const knng_graph* g = knng_r_graph(graph);
  int64_t rows = 0, width = 0;
  if (knng_graph_shape(g, &rows, NULL, &width, NULL, &error)) return knng_r_answer(R_NilValue, &error, NULL);
  SEXP list = PROTECT(knng_r_named(2, names));
  SEXP id = Rf_allocMatrix(INTSXP, (int)rows, (int)width);
  SET_VECTOR_ELT(list, 0, id);
  SEXP dist = Rf_allocMatrix(REALSXP, (int)rows, (int)width);
  SET_VECTOR_ELT(list, 1, dist);
  knng_matrix ids = by_columns(KNNG_I32, id, INTEGER(id)), values = by_columns(KNNG_F64, dist, REAL(dist));
  knng_graph_copy(g, 1, &ids, &values, &error);
  SEXP answer = knng_r_answer(list, &error, NULL);
  UNPROTECT(1);
  return answer;
}

/* One integer for each row, or column, of the graph. */
SEXP knng_r_rows(SEXP graph, SEXP what, SEXP of_columns) {
  knng_error error = knng_no_error();
  const knng_graph* g = knng_r_graph(graph);
  int64_t rows = 0, columns = 0;
  if (knng_graph_shape(g, &rows, &columns, NULL, NULL, &error)) return knng_r_answer(R_NilValue, &error, NULL);
  SEXP numbers = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)(Rf_asLogical(of_columns) == TRUE ? columns : rows)));
  knng_matrix out = knng_r_column(KNNG_I32, XLENGTH(numbers), INTEGER(numbers));
  knng_graph_rows(g, knng_r_text(what), &out, &error);
  SEXP answer = knng_r_answer(numbers, &error, NULL);
  UNPROTECT(1);
  return answer;
}

/* All statistics, named; NA for one that is not known. */
SEXP knng_r_stats(SEXP graph) {
  knng_error error = knng_no_error();
  const char* name = NULL;
  int n = 0;
  while (!knng_stat_name(n, &name, NULL, NULL)) ++n;
  SEXP numbers = PROTECT(Rf_allocVector(REALSXP, n)), names = PROTECT(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n && error.code == KNNG_OK; ++i) {
    knng_stat_name(i, &name, NULL, NULL);
    SET_STRING_ELT(names, i, Rf_mkChar(name));
    knng_graph_stat(knng_r_graph(graph), name, &REAL(numbers)[i], &error);
    if (ISNAN(REAL(numbers)[i])) REAL(numbers)[i] = NA_REAL;
  }
  Rf_setAttrib(numbers, R_NamesSymbol, names);
  SEXP answer = knng_r_answer(numbers, &error, NULL);
  UNPROTECT(2);
  return answer;
}

SEXP knng_r_graph_text(SEXP graph, SEXP name) {
  knng_error error = knng_no_error();
  char text[512] = "";
  knng_graph_text(knng_r_graph(graph), knng_r_text(name), text, sizeof text, NULL, &error);
  SEXP value = PROTECT(Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8)));
  SEXP answer = knng_r_answer(value, &error, NULL);
  UNPROTECT(1);
  return answer;
}

/* single: values are of binary32, as they were in the graph that the lists are of. */
SEXP knng_r_import(SEXP id, SEXP dist, SEXP single, SEXP columns, SEXP same_points) {
  SEXP pointer = PROTECT(knng_r_new_graph());
  knng_error error = knng_no_error();
  const knng_matrix ids = by_columns(KNNG_I32, id, INTEGER(id));
  knng_matrix values = by_columns(KNNG_F64, dist, REAL(dist));
  if (Rf_asLogical(single) == TRUE) {
    const R_xlen_t n = XLENGTH(dist);
    float* rounded = (float*)R_alloc((size_t)n, sizeof *rounded); /* R's, freed when .Call returns or jumps */
    for (R_xlen_t e = 0; e < n; ++e) rounded[e] = (float)REAL(dist)[e];
    values = by_columns(KNNG_F32, dist, rounded);
  }
  knng_graph* g = NULL;
  knng_graph_import(&g, &ids, &values, 1, (int64_t)Rf_asReal(columns), Rf_asLogical(same_points) == TRUE, &error);
  R_SetExternalPtrAddr(pointer, g);
  SEXP answer = knng_r_answer(pointer, &error, NULL);
  UNPROTECT(1);
  return answer;
}

static void end_sparse(SEXP pointer) {
  knng_sparse* s = R_ExternalPtrAddr(pointer);
  R_ClearExternalPtr(pointer);
  knng_sparse_destroy(s);
}

/* Compressed rows as compressed columns: entries are counted, then placed row by row. `p` comes filled with zeros, and
 * has one place for each column and one more. */
static void to_columns(const knng_sparse* s, int64_t rows, int64_t columns, int* p, int* i, double* x,
                       knng_error* error) {
  knng_matrix indptr = knng_packed(KNNG_I64, 0, 0, NULL), col = indptr, value = indptr;
  if (knng_sparse_view(s, &indptr, NULL, &col, &value, error)) return;
  const int64_t *begin = indptr.data, *of = col.data;
  const double* values = value.data; /* binary64, as R's lists are */
  const int64_t entries = begin[rows];
  for (int64_t e = 0; e < entries; ++e) ++p[of[e] + 1];
  for (int64_t c = 0; c < columns; ++c) p[c + 1] += p[c];
  /* p[c] goes on to where its column ends, which is where the next begins: moved back afterwards. */
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t e = begin[row]; e < begin[row + 1]; ++e) {
      const int place = p[of[e]]++;
      i[place] = (int)row;
      x[place] = values[e];
    }
  }
  for (int64_t c = columns; c > 0; --c) p[c] = p[c - 1];
  p[0] = 0;
}

/* list(p, i, x) as in a dgCMatrix: compressed columns, counted from 0, in R's vectors. The library writes rows, which
 * are the columns of a symmetric matrix; those of the rule "directed" are turned. */
SEXP knng_r_sparse(SEXP graph, SEXP rule, SEXP show) {
  static const char* const names[] = {"p", "i", "x"};
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, Rf_install("knng_sparse"), R_NilValue));
  R_RegisterCFinalizerEx(pointer, end_sparse, TRUE);
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  knng_sparse* s = NULL;
  int64_t rows = 0, columns = 0, entries = 0;
  knng_graph_sparse(knng_r_graph(graph), knng_r_text(rule), &control, &s, &error);
  R_SetExternalPtrAddr(pointer, s);
  if (error.code || knng_sparse_shape(s, &rows, &columns, &entries, &error)) {
    SEXP failure = knng_r_answer(R_NilValue, &error, &watch);
    UNPROTECT(2);
    return failure;
  }
  if (entries > INT_MAX) { /* slot p of a dgCMatrix counts them by int */
    error.code = KNNG_ERR_RANGE;
    error.given = entries;
    error.limit = INT_MAX;
    snprintf(error.argument, sizeof error.argument, "g");
    snprintf(error.reason, sizeof error.reason, "g: a sparse matrix of R has at most %d entries, and this has %.0f",
             INT_MAX, (double)entries);
    SEXP failure = knng_r_answer(R_NilValue, &error, &watch);
    UNPROTECT(2);
    return failure;
  }
  SEXP list = PROTECT(knng_r_named(3, names));
  SEXP p = Rf_allocVector(INTSXP, (R_xlen_t)columns + 1);
  SET_VECTOR_ELT(list, 0, p);
  SEXP i = Rf_allocVector(INTSXP, (R_xlen_t)entries);
  SET_VECTOR_ELT(list, 1, i);
  SEXP x = Rf_allocVector(REALSXP, (R_xlen_t)entries);
  SET_VECTOR_ELT(list, 2, x);
  if (!strcmp(knng_r_text(rule), "directed")) {
    memset(INTEGER(p), 0, sizeof(int) * (size_t)XLENGTH(p));
    to_columns(s, rows, columns, INTEGER(p), INTEGER(i), REAL(x), &error);
  } else {
    knng_matrix indptr = knng_r_column(KNNG_I32, XLENGTH(p), INTEGER(p));
    knng_matrix col = knng_r_column(KNNG_I32, XLENGTH(i), INTEGER(i)),
                value = knng_r_column(KNNG_F64, XLENGTH(x), REAL(x));
    knng_sparse_copy(s, 0, &indptr, NULL, entries ? &col : NULL, entries ? &value : NULL, &error);
  }
  end_sparse(pointer);
  SEXP answer = knng_r_answer(list, &error, &watch);
  UNPROTECT(3);
  return answer;
}
