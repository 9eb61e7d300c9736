/* Progress and Ctrl-C. The library calls back on the thread that called it, which is R's, as R asks for. R looks for
 * interrupts and time limits where it is asked to, and then jumps, as a progress function may by any condition. No jump
 * may pass the library: R_UnwindProtect() stops it in the callback, and knng_r_answer() lets it go on. */
#include "knng_r.h"

#include <R_ext/Utils.h>

static SEXP look_and_show(void* user) {
  knng_r_watch* watch = user;
  R_CheckUserInterrupt();
  if (watch->show == R_NilValue) return R_NilValue;
  SEXP stage = PROTECT(Rf_mkString(watch->stage));
  SEXP done = PROTECT(Rf_ScalarReal(watch->done));
  SEXP total = PROTECT(Rf_ScalarReal(watch->total));
  SEXP call = PROTECT(Rf_lang4(watch->show, stage, done, total));
  Rf_eval(call, R_GlobalEnv);
  UNPROTECT(4);
  return R_NilValue;
}

static SEXP on_interrupt(SEXP condition, void* user) {
  (void)condition;
  ((knng_r_watch*)user)->interrupted = 1;
  return R_NilValue;
}

/* Ctrl-C alone ends here: what comes of it, interrupt() of the package says. */
static SEXP attempt(void* user) {
  SEXP condition = PROTECT(Rf_mkString("interrupt"));
  R_tryCatch(look_and_show, user, condition, on_interrupt, user, NULL, NULL);
  UNPROTECT(1);
  return R_NilValue;
}

/* R calls this when attempt() is over; if by a jump, the way is back into the callback. */
static void over(void* user, Rboolean jump) {
  if (jump) longjmp(((knng_r_watch*)user)->callback, 1);
}

static int32_t on_progress(void* user, const char* stage, double done, double total) {
  knng_r_watch* watch = user;
  if (watch->interrupted || watch->jumped) return 1;
  watch->stage = stage;
  watch->done = done;
  watch->total = total;
  if (setjmp(watch->callback))
    watch->jumped = 1;
  else
    R_UnwindProtect(attempt, watch, over, watch, watch->token);
  return watch->interrupted || watch->jumped;
}

knng_control knng_r_control(knng_r_watch* watch, SEXP show_function) {
  knng_control control = {.struct_size = sizeof control, .progress = on_progress, .user = watch};
  watch->show = show_function;
  watch->interrupted = watch->jumped = 0;
  watch->token = R_MakeUnwindCont();
  return control;
}
