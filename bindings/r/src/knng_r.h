/* What the package's C files share. Each routine of .Call does one step; order and cleaning up are R's part.
 *
 * An R error is a longjmp, which would lose what C holds. So every object of the library is put into an external
 * pointer that exists, with its finaliser, before the object does, and a failure of the library is returned as a value,
 * which R raises. Nothing here calls Rf_error(); a jump that begins in a callback goes on in knng_r_answer(). */
#ifndef KNNG_R_H
#define KNNG_R_H

#include <knng.h>

#define R_NO_REMAP
#include <R.h>
#include <Rinternals.h>

#include <setjmp.h>

/* Progress and interrupts of one call; lives on that call's stack. */
typedef struct {
  SEXP show;        /* R function (stage, done, total), or NULL, R's */
  int interrupted;  /* Ctrl-C was pressed */
  int jumped;       /* R was about to leave the call: an error, a time limit, a condition that is caught outside */
  SEXP token;       /* where R was going; to be protected by the routine */
  jmp_buf callback; /* where its jump ends meanwhile */
  const char* stage;
  double done, total;
} knng_r_watch;

/* control.c */
knng_control knng_r_control(knng_r_watch* watch, SEXP show);

/* handle.c */
knng* knng_r_handle(SEXP pointer);
knng_graph* knng_r_graph(SEXP pointer);
SEXP knng_r_new_graph(void);
SEXP knng_r_answer(SEXP value, const knng_error* error, const knng_r_watch* watch);
SEXP knng_r_named(int n, const char* const* names); /* a list, to be protected by the caller */
knng_matrix knng_r_points(SEXP x, SEXP by_columns);
knng_matrix knng_r_column(int32_t dtype, R_xlen_t rows, void* data);
const char* knng_r_text(SEXP text);

#endif
