/* The library as a guest: floating-point state, signals, threads, files and output of the host program stay as they
 * were, and none of them changes a result. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/fork.h"
#include "harness/threads.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum { n = 120, d = 13, k = 8, variants = 3 };

/* Three sets that a wrong floating-point state would spoil: denormals, and real values with many roundings. */
static test_rows variant(int v) {
  double x[n * d];
  uint64_t seed = 71;
  for (int i = 0; i < n * d; ++i)
    x[i] = v == 0   ? ldexp(floor(50 * uniform(&seed)) + 1, -1074)
           : v == 1 ? ldexp(1 + uniform(&seed), -140)
                    : uniform(&seed);
  return rows_from(v == 1 ? KNNG_F32 : KNNG_F64, n, d, x);
}

/* Everything that computes, once: builds under all metrics, query, check, copies to narrower types, settings with
 * fractions. Results go into one list of graphs, compared by the caller. */
static void compute(test_rows* rows, knng_graph** graphs) {
  knng* h = HANDLE(rows, "device", "cpu", "value_type", "f64", "threads", "2");
  for (int m = 0; m < metric_count(); ++m) {
    set_metric(h, &metric_cases[m]);
    expect_ok(knng_set(h, "engine", fastest_engine(&metric_cases[m]), NULL), "engine");
    knng_graph* filtered = built(h, k);
    expect_ok(knng_set(h, "engine", "direct", NULL), "engine");
    graphs[m] = built(h, k);
    expect_same_graph(graphs[m], filtered, "engines");
    knng_graph_destroy(filtered);
    int64_t wrong = -2;
    expect_ok(knng_check(h, graphs[m], 0, NULL, &wrong, NULL), "knng_check");
    assert_int_equal(wrong, -1);
  }
  knng_destroy(h);
}

static void copy_halves(const knng_graph* g, uint16_t* out) {
  knng_matrix values = knng_packed(KNNG_F16, n, k, out);
  expect_ok(knng_graph_copy(g, 0, NULL, &values, NULL), "knng_graph_copy");
}

static void compare_with_default_state(void (*enter)(void), void (*still)(void), void (*leave)(void),
                                       const char* label) {
  for (int v = 0; v < variants; ++v) {
    test_rows rows = variant(v);
    oracle_graph expected[METRIC_CASES];
    for (int m = 0; m < metric_count(); ++m) {
      const oracle_task task = task_of(&metric_cases[m]);
      expected[m] = oracle_build(&task, rows.n, rows.d, rows.x, k);
    }
    knng_graph* graphs[METRIC_CASES];
    uint16_t here[n * k], there[n * k];
    enter();
    compute(&rows, graphs);
    still();
    copy_halves(graphs[1], there);
    still();
    leave();
    copy_halves(graphs[1], here);
    assert_memory_equal(here, there, sizeof here);
    for (int m = 0; m < metric_count(); ++m) {
      expect_graph(graphs[m], &expected[m], label);
      knng_graph_destroy(graphs[m]);
      oracle_graph_free(&expected[m]);
    }
    rows_free(&rows);
  }
}

#ifdef __x86_64__
enum { flush = 0x8040 }; /* flush to zero, denormals are zero */
static void enter_flush(void) { _mm_setcsr(_mm_getcsr() | flush); }
static void still_flush(void) { assert_int_equal(_mm_getcsr() & flush, flush); }
static void leave_flush(void) { _mm_setcsr(_mm_getcsr() & ~(unsigned)flush); }
#endif

static void a_host_that_flushes_denormals(void** state) {
  (void)state;
#ifdef __x86_64__
  enter_flush();
  const volatile double denormal = 0x1p-1074;
  assert_true(denormal * 0x1p52 == 0); /* it does flush */
  leave_flush();
  compare_with_default_state(enter_flush, still_flush, leave_flush, "flush to zero");
#else
  skip();
#endif
}

static int mode;
static void enter_rounding(void) { fesetround(mode); }
static void still_rounding(void) { assert_int_equal(fegetround(), mode); }
static void leave_rounding(void) { fesetround(FE_TONEAREST); }

static void a_host_that_rounds_otherwise(void** state) {
  (void)state;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int i = 0; i < 3; ++i) {
    mode = modes[i];
    compare_with_default_state(enter_rounding, still_rounding, leave_rounding, "rounding mode");
  }
}

static void enter_traps(void) { feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW); }
static void still_traps(void) { assert_int_equal(fegetexcept(), FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW); }
static void leave_traps(void) { fedisableexcept(FE_ALL_EXCEPT); }

static void a_host_with_traps(void** state) {
  (void)state;
  compare_with_default_state(enter_traps, still_traps, leave_traps, "traps");
  /* 0/0 inside canberra, log(0) inside jensenshannon: no trap may spring. */
  test_rows rows = rows_grid(KNNG_F32, 50, 6, 2, 72);
  knng* h = HANDLE(&rows, "device", "cpu", "metric", "canberra");
  enter_traps();
  knng_graph* g = built(h, 5);
  leave_traps();
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static void exception_flags_are_the_hosts(void** state) {
  (void)state;
  test_rows rows = variant(2);
  knng_graph* graphs[METRIC_CASES];
  feclearexcept(FE_ALL_EXCEPT);
  compute(&rows, graphs);
  assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
  for (int m = 0; m < metric_count(); ++m) knng_graph_destroy(graphs[m]);
  feraiseexcept(FE_OVERFLOW);
  compute(&rows, graphs);
  assert_true(fetestexcept(FE_OVERFLOW) != 0);
  feclearexcept(FE_ALL_EXCEPT);
  for (int m = 0; m < metric_count(); ++m) knng_graph_destroy(graphs[m]);
  rows_free(&rows);
}

#ifdef __x86_64__
static int flush_in_callback;
static int32_t look_at_state(void* user, const char* stage, double done, double total) {
  (void)user, (void)stage, (void)done, (void)total;
  flush_in_callback += (_mm_getcsr() & flush) == flush ? 1 : -1000;
  return 0;
}
#endif

static void callbacks_have_the_hosts_state(void** state) {
  (void)state;
#ifdef __x86_64__
  test_rows rows = variant(2);
  knng* h = HANDLE(&rows, "device", "cpu");
  const knng_control c = {sizeof c, 1, look_at_state, NULL, NULL, NULL, 0};
  knng_graph* g = NULL;
  enter_flush();
  const knng_status status = knng_build(h, k, &c, &g, NULL);
  leave_flush();
  expect_ok(status, "knng_build");
  assert_true(flush_in_callback > 0);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
#else
  skip();
#endif
}

static void no_thread_and_no_file_stays(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 500, 8, 73);
  /* Sanitizers have a thread of their own. */
  const int files = entries_of("/proc/self/fd"), threads = threads_settled(1);
  knng* h = HANDLE(&rows, "device", "cpu", "threads", "4");
  const knng_matrix m = matrix_of(&rows);
  for (int i = 0; i < 3; ++i) {
    knng_graph *g = built(h, 5), *q = NULL;
    assert_int_equal(threads_settled(threads), threads);
    expect_ok(knng_query(h, &m, NULL, 0, 5, NULL, &q, NULL), "knng_query");
    assert_int_equal(threads_settled(threads), threads);
    int64_t wrong = 0;
    expect_ok(knng_check(h, g, 0, NULL, &wrong, NULL), "knng_check");
    assert_int_equal(threads_settled(threads), threads);
    knng_sparse* s = NULL;
    expect_ok(knng_graph_sparse(g, "snn", NULL, &s, NULL), "knng_graph_sparse");
    assert_int_equal(threads_settled(threads), threads);
    knng_graph_destroy(q);
    EXPECT_ERROR(knng_build(h, 500, NULL, &q, &reported), KNNG_ERR_RANGE, "500");
    assert_null(q);
    assert_int_equal(threads_settled(threads), threads);
    knng_sparse_destroy(s);
    knng_graph_destroy(g);
  }
  knng_destroy(h);
  assert_int_equal(threads_settled(threads), threads);
  assert_int_equal(entries_of("/proc/self/fd"), files);
  rows_free(&rows);
}

static pthread_t handler_thread;
static volatile sig_atomic_t alarms;
static void on_alarm(int signal) {
  (void)signal;
  handler_thread = pthread_self();
  ++alarms;
}

static void signals_stay_with_the_host(void** state) {
  (void)state;
  sigset_t before, after, blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  struct sigaction actions[32], action;
  for (int s = 1; s < 32; ++s) sigaction(s, NULL, &actions[s]);
  struct sigaction alarm_action;
  memset(&alarm_action, 0, sizeof alarm_action);
  alarm_action.sa_handler = on_alarm;
  sigaction(SIGALRM, &alarm_action, NULL);
  sigaction(SIGALRM, NULL, &actions[SIGALRM]);

  test_rows rows = rows_normal(KNNG_F32, small_run() ? 1000 : 4000, 32, 74);
  knng* h = HANDLE(&rows, "device", "cpu", "metric", "minkowski", "p", "1.7", "threads", "2");
  const struct itimerval tick = {{0, 5000}, {0, 5000}}, none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &tick, NULL);
  knng_graph* g = built(h, 5);
  setitimer(ITIMER_REAL, &none, NULL);
  assert_true(alarms > 0);
  assert_true(pthread_equal(handler_thread, pthread_self()));
  assert_int_equal(knng_build(h, -1, NULL, &(knng_graph*){NULL}, NULL), KNNG_ERR_RANGE);

  pthread_sigmask(SIG_SETMASK, NULL, &after);
  for (int s = 1; s < 32; ++s) {
    assert_int_equal(sigismember(&before, s), sigismember(&after, s));
    sigaction(s, NULL, &action);
    assert_true(action.sa_handler == actions[s].sa_handler);
  }
  pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static void nothing_is_printed(void** state) {
  (void)state;
  char path[] = "output-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  const pid_t child = forked();
  if (child == 0) {
    dup2(file, 1);
    dup2(file, 2);
    test_rows rows = rows_normal(KNNG_F32, 300, 8, 75);
    knng* h = HANDLE(&rows, "device", "cpu");
    knng_graph *g = built(h, 5), *none = NULL;
    knng_build(h, 0, NULL, &none, NULL);
    knng_set(h, "metric", "nonsense", NULL);
    knng_graph_load(&none, "/nonexistent", NULL, NULL);
    knng_add_file(h, "/nonexistent.npy", NULL, NULL);
    knng_graph_destroy(g);
    knng_destroy(h);
    _exit(0);
  }
  expect_child_ok(child);
  assert_int_equal(lseek(file, 0, SEEK_END), 0);
  close(file);
  unlink(path);
}

/* Calls on one handle at the same time, and errors that stay with their threads. */
static knng* common;
static knng_graph* common_graph;
static void* read_together(void* result) {
  int* ok = result;
  knng_graph* g = NULL;
  int64_t rows = 0;
  *ok = knng_build(common, 7, NULL, &g, NULL) == KNNG_OK && knng_shape(common, &rows, NULL, NULL, NULL) == KNNG_OK &&
        rows == 400;
  if (*ok) {
    knng_matrix a = knng_packed(KNNG_I64, 0, 0, NULL), b = a;
    *ok = knng_graph_view(g, &a, NULL, NULL) == KNNG_OK && knng_graph_view(common_graph, &b, NULL, NULL) == KNNG_OK &&
          memcmp(a.data, b.data, 400 * 7 * sizeof(int64_t)) == 0;
    knng_sparse* s = NULL;
    *ok = *ok && knng_graph_sparse(common_graph, "union", NULL, &s, NULL) == KNNG_OK;
    knng_sparse_destroy(s);
    double seconds = 0;
    *ok = *ok && knng_graph_stat(common_graph, "no such", &seconds, NULL) == KNNG_ERR_OPTION;
  }
  knng_graph_destroy(g);
  return NULL;
}

static void readers_run_together(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_U8, 400, 5, 6, 76);
  common = HANDLE(&rows, "device", "cpu", "threads", "2");
  common_graph = built(common, 7);
  pthread_t threads[4];
  int ok[4] = {0};
  for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, read_together, &ok[i]), 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; ++i) assert_true(ok[i]);
  knng_graph_destroy(common_graph);
  knng_destroy(common);
  rows_free(&rows);
}

/* A failed test must not leave its state to the next. */
static int reset_state(void** state) {
  (void)state;
  fesetenv(FE_DFL_ENV);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_printed),
      cmocka_unit_test_teardown(a_host_that_flushes_denormals, reset_state),
      cmocka_unit_test_teardown(a_host_that_rounds_otherwise, reset_state),
      cmocka_unit_test_teardown(a_host_with_traps, reset_state),
      cmocka_unit_test_teardown(exception_flags_are_the_hosts, reset_state),
      cmocka_unit_test_teardown(callbacks_have_the_hosts_state, reset_state),
      cmocka_unit_test(no_thread_and_no_file_stays),
      cmocka_unit_test(signals_stay_with_the_host),
      cmocka_unit_test(readers_run_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
