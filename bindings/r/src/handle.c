/* External pointers that own the library's objects, and what every routine needs: matrices of R as the library's, and
 * answers. */
#include "knng_r.h"
#include "routines.h"

#include <string.h>

static void end_handle(SEXP pointer) {
  knng* h = R_ExternalPtrAddr(pointer);
  R_ClearExternalPtr(pointer);
  knng_destroy(h);
}

static void end_graph(SEXP pointer) {
  knng_graph* g = R_ExternalPtrAddr(pointer);
  R_ClearExternalPtr(pointer);
  knng_graph_destroy(g);
}

static SEXP new_pointer(const char* tag, R_CFinalizer_t end) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, Rf_install(tag), R_NilValue));
  R_RegisterCFinalizerEx(pointer, end, TRUE);
  UNPROTECT(1);
  return pointer;
}

/* An external pointer that came back from a file or was ended holds NULL, which the library refuses by itself. */
static void* address(SEXP pointer, const char* tag) {
  if (TYPEOF(pointer) != EXTPTRSXP || R_ExternalPtrTag(pointer) != Rf_install(tag)) return NULL;
  return R_ExternalPtrAddr(pointer);
}

knng* knng_r_handle(SEXP pointer) { return address(pointer, "knng"); }

knng_graph* knng_r_graph(SEXP pointer) { return address(pointer, "knng_graph"); }

SEXP knng_r_new_graph(void) { return new_pointer("knng_graph", end_graph); }

SEXP knng_r_create(void) {
  SEXP pointer = PROTECT(new_pointer("knng", end_handle));
  knng_error error = knng_no_error();
  knng* h = NULL;
  knng_create(&h, 0, 0, &error);
  R_SetExternalPtrAddr(pointer, h);
  SEXP answer = knng_r_answer(pointer, &error, NULL);
  UNPROTECT(1);
  return answer;
}

/* Ends handle or graph now, rather than when R collects garbage. */
SEXP knng_r_end(SEXP pointer) {
  if (knng_r_handle(pointer)) end_handle(pointer);
  if (knng_r_graph(pointer)) end_graph(pointer);
  return R_NilValue;
}

SEXP knng_r_set(SEXP handle, SEXP key, SEXP value) {
  knng_error error = knng_no_error();
  knng_set(knng_r_handle(handle), knng_r_text(key), knng_r_text(value), &error);
  return knng_r_answer(R_NilValue, &error, NULL);
}

const char* knng_r_text(SEXP text) {
  if (TYPEOF(text) != STRSXP || XLENGTH(text) != 1) return NULL;
  return CHAR(STRING_ELT(text, 0));
}

SEXP knng_r_named(int n, const char* const* names) {
  SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
  SEXP words = PROTECT(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n; ++i) SET_STRING_ELT(words, i, Rf_mkChar(names[i]));
  Rf_setAttrib(list, R_NamesSymbol, words);
  UNPROTECT(2);
  return list;
}

/* The value of a call that succeeded, or what went wrong as a list of class knng_failure. Does not return where R left
 * the call in a callback: what the routine holds must be in external pointers by then, or R's. */
SEXP knng_r_answer(SEXP value, const knng_error* error, const knng_r_watch* watch) {
  if (watch && watch->jumped) R_ContinueUnwind(watch->token);
  const int interrupted = watch && watch->interrupted; /* also if the library was done by then */
  if (error->code == KNNG_OK && !interrupted) return value;
  static const char* const names[] = {"code", "argument", "row", "col", "given", "limit", "reason", "interrupted"};
  SEXP failure = PROTECT(knng_r_named(8, names));
  SET_VECTOR_ELT(failure, 0, Rf_ScalarInteger(error->code));
  SET_VECTOR_ELT(failure, 1, Rf_ScalarString(Rf_mkCharCE(error->argument, CE_UTF8)));
  SET_VECTOR_ELT(failure, 2, Rf_ScalarReal((double)error->row));
  SET_VECTOR_ELT(failure, 3, Rf_ScalarReal((double)error->col));
  SET_VECTOR_ELT(failure, 4, Rf_ScalarReal((double)error->given));
  SET_VECTOR_ELT(failure, 5, Rf_ScalarReal((double)error->limit));
  SET_VECTOR_ELT(failure, 6, Rf_ScalarString(Rf_mkCharCE(error->reason, CE_UTF8)));
  SET_VECTOR_ELT(failure, 7, Rf_ScalarLogical(interrupted));
  SEXP kind = PROTECT(Rf_mkString("knng_failure"));
  Rf_setAttrib(failure, R_ClassSymbol, kind);
  UNPROTECT(2);
  return failure;
}

/* An R matrix (double, integer or logical, whose NA R has refused) as points x dimension, without a copy. */
knng_matrix knng_r_points(SEXP x, SEXP by_columns) {
  const int64_t rows = Rf_nrows(x), cols = Rf_ncols(x);
  const int is_double = TYPEOF(x) == REALSXP;
  void* data = is_double ? (void*)REAL(x) : TYPEOF(x) == LGLSXP ? (void*)LOGICAL(x) : (void*)INTEGER(x);
  const int32_t dtype = is_double ? KNNG_F64 : KNNG_I32;
  if (Rf_asLogical(by_columns) == TRUE) return knng_packed(dtype, cols, rows, data);
  knng_matrix m = knng_packed(dtype, rows, cols, data);
  m.row_stride = 1; /* by columns, as R has it */
  m.col_stride = rows;
  return m;
}

knng_matrix knng_r_column(int32_t dtype, R_xlen_t rows, void* data) {
  return knng_packed(dtype, (int64_t)rows, 1, data);
}
