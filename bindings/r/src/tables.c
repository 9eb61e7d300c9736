/* The library's own tables: settings, metrics, devices, version. */
#include "knng_r.h"
#include "routines.h"

static SEXP text(const char* words) { return Rf_mkCharCE(words ? words : "", CE_UTF8); }

/* Columns of character vectors of one length. */
static SEXP table(int columns, const char* const* names, int rows) {
  SEXP list = PROTECT(knng_r_named(columns, names));
  for (int i = 0; i < columns; ++i) SET_VECTOR_ELT(list, i, Rf_allocVector(STRSXP, rows));
  UNPROTECT(1);
  return list;
}

SEXP knng_r_settings(void) {
  static const char* const names[] = {"name", "default", "values", "meaning", "environment"};
  knng_option option = {.struct_size = sizeof option};
  int n = 0;
  while (!knng_option_get(n, &option, NULL)) ++n;
  SEXP list = PROTECT(table(5, names, n));
  for (int i = 0; i < n; ++i) {
    knng_option_get(i, &option, NULL);
    const char* const cells[] = {option.name, option.fallback, option.range, option.doc, option.environment};
    for (int c = 0; c < 5; ++c) SET_STRING_ELT(VECTOR_ELT(list, c), i, text(cells[c]));
  }
  UNPROTECT(1);
  return list;
}

SEXP knng_r_metrics(void) {
  static const char* const columns[] = {"name", "other_names"};
  const char *name = NULL, *aliases = NULL;
  int n = 0;
  while (!knng_metric_name(n, &name, &aliases, NULL)) ++n;
  SEXP list = PROTECT(table(2, columns, n));
  for (int i = 0; i < n; ++i) {
    knng_metric_name(i, &name, &aliases, NULL);
    SET_STRING_ELT(VECTOR_ELT(list, 0), i, text(name));
    SET_STRING_ELT(VECTOR_ELT(list, 1), i, text(aliases));
  }
  UNPROTECT(1);
  return list;
}

SEXP knng_r_devices(void) {
  static const char* const columns[] = {"name", "why_not"};
  knng_device device = {.struct_size = sizeof device};
  int n = 0;
  while (!knng_device_get(n, &device, NULL)) ++n;
  SEXP list = PROTECT(table(2, columns, n));
  for (int i = 0; i < n; ++i) {
    if (knng_device_get(i, &device, NULL)) continue;
    SET_STRING_ELT(VECTOR_ELT(list, 0), i, text(device.name));
    SET_STRING_ELT(VECTOR_ELT(list, 1), i, text(device.why_not));
  }
  UNPROTECT(1);
  return list;
}

/* The version of the library that runs, and of the header that the package was compiled with. */
SEXP knng_r_version(void) {
  SEXP numbers = Rf_allocVector(INTSXP, 2);
  INTEGER(numbers)[0] = knng_version();
  INTEGER(numbers)[1] = KNNG_HEADER_VERSION;
  return numbers;
}

SEXP knng_r_use_matrix_tiles(void) {
  knng_error error = knng_no_error();
  knng_use_matrix_tiles(&error);
  return knng_r_answer(R_NilValue, &error, NULL);
}
