/* Graphs in files, and what describes a graph made of R's matrices before it goes into one. */
#include "knng_r.h"
#include "routines.h"

/* list(columns, width, same_points, single): single, whether values are of binary32. */
SEXP knng_r_shape(SEXP graph) {
  static const char* const names[] = {"columns", "width", "same_points", "single"};
  knng_error error = knng_no_error();
  const knng_graph* g = knng_r_graph(graph);
  int64_t columns = 0, width = 0;
  int32_t same_points = 0;
  knng_matrix values = knng_packed(KNNG_F64, 0, 0, NULL);
  if (knng_graph_shape(g, NULL, &columns, &width, &same_points, &error) || knng_graph_view(g, NULL, &values, &error))
    return knng_r_answer(R_NilValue, &error, NULL);
  SEXP list = PROTECT(knng_r_named(4, names));
  SET_VECTOR_ELT(list, 0, Rf_ScalarReal((double)columns));
  SET_VECTOR_ELT(list, 1, Rf_ScalarReal((double)width));
  SET_VECTOR_ELT(list, 2, Rf_ScalarLogical(same_points));
  SET_VECTOR_ELT(list, 3, Rf_ScalarLogical(values.dtype == KNNG_F32));
  UNPROTECT(1);
  return list;
}

/* ties, proof: raw vectors, or NULL. */
SEXP knng_r_describe(SEXP graph, SEXP facts, SEXP ties, SEXP proof) {
  knng_error error = knng_no_error();
  knng_matrix marks[2];
  const SEXP given[] = {ties, proof};
  for (int i = 0; i < 2; ++i)
    if (given[i] != R_NilValue) marks[i] = knng_r_column(KNNG_U8, XLENGTH(given[i]), RAW(given[i]));
  knng_graph_describe(knng_r_graph(graph), knng_r_text(facts), ties != R_NilValue ? &marks[0] : NULL,
                      proof != R_NilValue ? &marks[1] : NULL, &error);
  return knng_r_answer(R_NilValue, &error, NULL);
}

SEXP knng_r_save(SEXP graph, SEXP path, SEXP format, SEXP show) {
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  knng_graph_save(knng_r_graph(graph), knng_r_text(path), knng_r_text(format), &control, &error);
  SEXP answer = knng_r_answer(R_NilValue, &error, &watch);
  UNPROTECT(1);
  return answer;
}

SEXP knng_r_load(SEXP path, SEXP show) {
  SEXP pointer = PROTECT(knng_r_new_graph());
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  knng_graph* g = NULL;
  knng_graph_load(&g, knng_r_text(path), &control, &error);
  R_SetExternalPtrAddr(pointer, g);
  SEXP answer = knng_r_answer(pointer, &error, &watch);
  UNPROTECT(2);
  return answer;
}
