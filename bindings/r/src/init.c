/* Registers the routines, which R then finds by symbols of their names, and no others. */
#include "routines.h"

#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#define ROUTINE(name, arguments) \
  { #name, (DL_FUNC)&name, arguments }

static const R_CallMethodDef routines[] = {ROUTINE(knng_r_create, 0),
                                           ROUTINE(knng_r_end, 1),
                                           ROUTINE(knng_r_set, 3),
                                           ROUTINE(knng_r_borrow, 4),
                                           ROUTINE(knng_r_add_file, 3),
                                           ROUTINE(knng_r_add_sparse, 6),
                                           ROUTINE(knng_r_build, 3),
                                           ROUTINE(knng_r_query, 6),
                                           ROUTINE(knng_r_query_file, 4),
                                           ROUTINE(knng_r_check, 4),
                                           ROUTINE(knng_r_estimate, 3),
                                           ROUTINE(knng_r_lists, 1),
                                           ROUTINE(knng_r_rows, 3),
                                           ROUTINE(knng_r_stats, 1),
                                           ROUTINE(knng_r_graph_text, 2),
                                           ROUTINE(knng_r_shape, 1),
                                           ROUTINE(knng_r_import, 5),
                                           ROUTINE(knng_r_describe, 4),
                                           ROUTINE(knng_r_save, 4),
                                           ROUTINE(knng_r_load, 2),
                                           ROUTINE(knng_r_sparse, 3),
                                           ROUTINE(knng_r_settings, 0),
                                           ROUTINE(knng_r_metrics, 0),
                                           ROUTINE(knng_r_devices, 0),
                                           ROUTINE(knng_r_version, 0),
                                           ROUTINE(knng_r_use_matrix_tiles, 0),
                                           {NULL, NULL, 0}};

attribute_visible void R_init_knng(DllInfo* library) {
  R_registerRoutines(library, NULL, routines, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
  R_forceSymbols(library, TRUE);
}
