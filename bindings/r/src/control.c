/* Progress and Ctrl-C. The library calls back on the thread that called it, which is R's, as R asks for. R looks for
 * interrupts where it is asked to, and then jumps; R_ToplevelExec() keeps the jump inside the callback. */
#include "knng_r.h"

#include <R_ext/Utils.h>

static void look(void* unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

static void show(void* user) {
  knng_r_watch* watch = user;
  SEXP stage = PROTECT(Rf_mkString(watch->stage));
  SEXP done = PROTECT(Rf_ScalarReal(watch->done));
  SEXP total = PROTECT(Rf_ScalarReal(watch->total));
  SEXP call = PROTECT(Rf_lang4(watch->show, stage, done, total));
  watch->interrupted = Rf_asLogical(Rf_eval(call, R_GlobalEnv)) == TRUE ? 2 : 0;
  UNPROTECT(4);
}

static int32_t on_progress(void* user, const char* stage, double done, double total) {
  knng_r_watch* watch = user;
  watch->stage = stage;
  watch->done = done;
  watch->total = total;
  /* The function catches its own errors, so that only Ctrl-C ends it early. */
  if (!R_ToplevelExec(look, NULL) || (watch->show != R_NilValue && !R_ToplevelExec(show, watch)))
    watch->interrupted = 1;
  return watch->interrupted;
}

knng_control knng_r_control(knng_r_watch* watch, SEXP show_function) {
  knng_control control = {.struct_size = sizeof control, .progress = on_progress, .user = watch};
  watch->show = show_function;
  watch->interrupted = 0;
  return control;
}
