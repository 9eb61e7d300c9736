/* Points: matrices of R as they are, sparse matrices in dense blocks, files. */
#include "knng_r.h"
#include "routines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shows a matrix to the handle, which keeps it from R's collector for as long as it lives. */
SEXP knng_r_borrow(SEXP handle, SEXP x, SEXP by_columns, SEXP show) {
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  const knng_matrix rows = knng_r_points(x, by_columns);
  R_SetExternalPtrProtected(handle, x);
  knng_borrow(knng_r_handle(handle), &rows, &control, &error);
  SEXP answer = knng_r_answer(R_NilValue, &error, &watch);
  UNPROTECT(1);
  return answer;
}

SEXP knng_r_add_file(SEXP handle, SEXP path, SEXP show) {
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  knng_add_file(knng_r_handle(handle), knng_r_text(path), &control, &error);
  SEXP answer = knng_r_answer(R_NilValue, &error, &watch);
  UNPROTECT(1);
  return answer;
}

/* The smallest type that holds all values as they are: distances are those of the values, whatever the type. */
static int32_t smallest_type(const double* x, R_xlen_t n) {
  int bytes = 1, words = 1, floats = 1;
  for (R_xlen_t i = 0; i < n; ++i) {
    const double v = x[i];
    if (!(v >= 0 && v <= 65535 && v == floor(v))) bytes = words = 0;
    if (v > 255) bytes = 0;
    if (!isfinite(v)) return KNNG_F64; /* which the library refuses, with row and column */
    if (fabs(v) > 3.4028234663852886e38 || (double)(float)v != v) floats = 0;
    if (!words && !floats) return KNNG_F64;
  }
  return bytes ? KNNG_U8 : words ? KNNG_U16 : floats ? KNNG_F32 : KNNG_F64;
}

/* Whether points that are made dense exceed max_host_bytes, which knng_get() says in bytes, 0 for none. Refused before
 * the first block, which would say what that one needs. */
static int too_large(const knng* h, double n, double d, double size, knng_error* error) {
  char limit[32] = "";
  if (knng_get(h, "max_host_bytes", limit, sizeof limit, NULL, error)) return 1;
  const double most = strtod(limit, NULL), bytes = n * d * size;
  if (most == 0 || bytes <= most) return 0;
  error->code = KNNG_ERR_BUDGET;
  error->given = (int64_t)most;
  error->limit = bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
  snprintf(error->argument, sizeof error->argument, "max_host_bytes");
  snprintf(
      error->reason, sizeof error->reason,
      "max_host_bytes=%.0f is too small: sparse points are made dense, and %.0f points of %.0f values take %.0f bytes",
      most, n, d, bytes);
  return 1;
}

static void put(void* block, int32_t dtype, R_xlen_t at, double v) {
  if (dtype == KNNG_U8)
    ((uint8_t*)block)[at] = (uint8_t)v;
  else if (dtype == KNNG_U16)
    ((uint16_t*)block)[at] = (uint16_t)v;
  else if (dtype == KNNG_F32)
    ((float*)block)[at] = (float)v;
  else
    ((double*)block)[at] = v;
}

/* Copies a sparse matrix whose columns are the points (slots p, i, x of a dgCMatrix with dim rows), made dense some
 * points at a time. */
SEXP knng_r_add_sparse(SEXP handle, SEXP p, SEXP i, SEXP x, SEXP dim, SEXP show) {
  knng_error error = knng_no_error();
  knng_r_watch watch;
  const knng_control control = knng_r_control(&watch, show);
  PROTECT(watch.token);
  const int64_t n = XLENGTH(p) - 1, d = (int64_t)Rf_asReal(dim);
  const int *start = INTEGER(p), *place = INTEGER(i);
  const double* value = REAL(x);
  const int32_t dtype = smallest_type(value, XLENGTH(x));
  const int64_t size = (dtype & 0xff) / 8;
  if (too_large(knng_r_handle(handle), (double)n, (double)d, (double)size, &error)) {
    SEXP failure = knng_r_answer(R_NilValue, &error, &watch);
    UNPROTECT(1);
    return failure;
  }
  int64_t at_once = ((int64_t)8 << 20) / (d * size);
  at_once = at_once < 1 ? 1 : at_once > n ? n : at_once;
  void* block = R_alloc((size_t)(at_once * d), (int)size); /* R's, freed when .Call returns or jumps */
  for (int64_t first = 0; first < n; first += at_once) {
    const int64_t count = n - first < at_once ? n - first : at_once;
    memset(block, 0, (size_t)(count * d * size));
    for (int64_t c = 0; c < count; ++c)
      for (int e = start[first + c]; e < start[first + c + 1]; ++e) put(block, dtype, c * d + place[e], value[e]);
    const knng_matrix rows = knng_packed(dtype, count, d, block);
    if (knng_add(knng_r_handle(handle), &rows, &control, &error)) {
      if (error.row >= 0) error.row += first;
      break;
    }
  }
  SEXP answer = knng_r_answer(R_NilValue, &error, &watch);
  UNPROTECT(1);
  return answer;
}
