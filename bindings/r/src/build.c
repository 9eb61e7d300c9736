/* Long calls: graphs, queries, checks, and what they would need. */
#include "knng_r.h"
#include "routines.h"

static SEXP graph_answer(SEXP pointer, knng_graph* g, const knng_error* error, const knng_r_watch* watch) {
  R_SetExternalPtrAddr(pointer, g);
  return knng_r_answer(pointer, error, watch);
}

SEXP knng_r_build(SEXP handle, SEXP k, SEXP show) {
  SEXP pointer = PROTECT(knng_r_new_graph());
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  knng_graph* g = NULL;
  knng_build(knng_r_handle(handle), (int64_t)Rf_asReal(k), &control, &g, &error);
  SEXP answer = graph_answer(pointer, g, &error, &watch);
  UNPROTECT(2);
  return answer;
}

/* leave_out: NULL, or an integer vector that counts from 1, 0 for none. */
SEXP knng_r_query(SEXP handle, SEXP q, SEXP by_columns, SEXP leave_out, SEXP k, SEXP show) {
  SEXP pointer = PROTECT(knng_r_new_graph());
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  const knng_matrix rows = knng_r_points(q, by_columns);
  const int some = leave_out != R_NilValue;
  const knng_matrix left = knng_r_column(KNNG_I32, some ? XLENGTH(leave_out) : 1, some ? INTEGER(leave_out) : NULL);
  knng_graph* g = NULL;
  knng_query(knng_r_handle(handle), &rows, some ? &left : NULL, 1, (int64_t)Rf_asReal(k), &control, &g, &error);
  SEXP answer = graph_answer(pointer, g, &error, &watch);
  UNPROTECT(2);
  return answer;
}

SEXP knng_r_query_file(SEXP handle, SEXP path, SEXP k, SEXP show) {
  SEXP pointer = PROTECT(knng_r_new_graph());
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  knng_graph* g = NULL;
  knng_query_file(knng_r_handle(handle), knng_r_text(path), (int64_t)Rf_asReal(k), &control, &g, &error);
  SEXP answer = graph_answer(pointer, g, &error, &watch);
  UNPROTECT(2);
  return answer;
}

/* The first row, from 1, that differs from the definition; 0 if none does. */
SEXP knng_r_check(SEXP handle, SEXP graph, SEXP sample, SEXP show) {
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  int64_t first_wrong = -1;
  knng_check(knng_r_handle(handle), knng_r_graph(graph), (int64_t)Rf_asReal(sample), &control, &first_wrong, &error);
  SEXP value = PROTECT(Rf_ScalarReal((double)first_wrong + 1));
  SEXP answer = knng_r_answer(value, &error, &watch);
  UNPROTECT(2);
  return answer;
}

SEXP knng_r_estimate(SEXP handle, SEXP queries, SEXP k) {
  static const char* const names[] = {"devices",         "host_bytes", "device_bytes", "smallest_host",
                                      "smallest_device", "tile_rows",  "tile_cols",    "tiles"};
  knng_error error = knng_no_error();
  knng_plan plan = {.struct_size = sizeof plan};
  knng_estimate(knng_r_handle(handle), (int64_t)Rf_asReal(queries), (int64_t)Rf_asReal(k), &plan, &error);
  const double numbers[] = {plan.devices,
                            (double)plan.host_bytes,
                            (double)plan.device_bytes,
                            (double)plan.smallest_host,
                            (double)plan.smallest_device,
                            (double)plan.tile_rows,
                            (double)plan.tile_cols,
                            (double)plan.tiles};
  SEXP list = PROTECT(knng_r_named(8, names));
  for (int i = 0; i < 8; ++i) SET_VECTOR_ELT(list, i, Rf_ScalarReal(numbers[i]));
  SEXP answer = knng_r_answer(list, &error, NULL);
  UNPROTECT(1);
  return answer;
}
