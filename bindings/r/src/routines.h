/* The routines of .Call. */
#ifndef KNNG_R_ROUTINES_H
#define KNNG_R_ROUTINES_H

#include <Rinternals.h>

SEXP knng_r_create(void);
SEXP knng_r_end(SEXP pointer);
SEXP knng_r_set(SEXP handle, SEXP key, SEXP value);
SEXP knng_r_borrow(SEXP handle, SEXP x, SEXP by_columns, SEXP show);
SEXP knng_r_add_file(SEXP handle, SEXP path, SEXP show);
SEXP knng_r_add_sparse(SEXP handle, SEXP p, SEXP i, SEXP x, SEXP dim, SEXP show);
SEXP knng_r_build(SEXP handle, SEXP k, SEXP show);
SEXP knng_r_query(SEXP handle, SEXP q, SEXP by_columns, SEXP leave_out, SEXP k, SEXP show);
SEXP knng_r_query_file(SEXP handle, SEXP path, SEXP k, SEXP show);
SEXP knng_r_check(SEXP handle, SEXP graph, SEXP sample, SEXP show);
SEXP knng_r_estimate(SEXP handle, SEXP queries, SEXP k);
SEXP knng_r_lists(SEXP graph);
SEXP knng_r_rows(SEXP graph, SEXP what, SEXP of_columns);
SEXP knng_r_stats(SEXP graph);
SEXP knng_r_graph_text(SEXP graph, SEXP name);
SEXP knng_r_shape(SEXP graph);
SEXP knng_r_import(SEXP id, SEXP dist, SEXP single, SEXP columns, SEXP same_points);
SEXP knng_r_describe(SEXP graph, SEXP facts, SEXP ties, SEXP proof);
SEXP knng_r_save(SEXP graph, SEXP path, SEXP format, SEXP show);
SEXP knng_r_load(SEXP path, SEXP show);
SEXP knng_r_sparse(SEXP graph, SEXP rule, SEXP show);
SEXP knng_r_settings(void);
SEXP knng_r_metrics(void);
SEXP knng_r_devices(void);
SEXP knng_r_version(void);
SEXP knng_r_use_matrix_tiles(void);

#endif
