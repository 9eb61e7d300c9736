/* Progress, log and stop: where callbacks run, what they are passed, how soon a call ends, and what it leaves. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/raiser.h"

typedef struct witness {
  pthread_t caller;
  int calls, stop_at, logs;
  int wrong_thread, wrong_numbers, went_back, build_inside;
  char stage[64];
  double done;
  int stages;
  volatile int32_t* flag;
} witness;

static int32_t on_progress(void* user, const char* stage, double done, double total) {
  witness* w = user;
  w->wrong_thread += !pthread_equal(pthread_self(), w->caller);
  w->wrong_numbers += !(done >= 0 && done <= total && strlen(stage) > 0);
  if (strcmp(stage, w->stage) == 0)
    w->went_back += done < w->done;
  else
    ++w->stages;
  snprintf(w->stage, sizeof w->stage, "%s", stage);
  w->done = done;
  ++w->calls;
  if (w->build_inside) {
    /* Other handles may be used from a callback. */
    test_rows rows = rows_grid(KNNG_F32, 20, 2, 5, 1);
    knng* h = HANDLE(&rows, "device", "cpu");
    knng_graph* g = built(h, 3);
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
  if (w->stop_at && w->calls >= w->stop_at) {
    if (!w->flag) return 1;
    __atomic_store_n(w->flag, 1, __ATOMIC_RELAXED);
  }
  return 0;
}

static void on_log(void* user, int32_t level, const char* text) {
  witness* w = user;
  w->wrong_thread += !pthread_equal(pthread_self(), w->caller);
  w->wrong_numbers += (level != 0 && level != 1) || strchr(text, '\n') != NULL || strlen(text) == 0;
  ++w->logs;
}

static witness new_witness(void) {
  witness w;
  memset(&w, 0, sizeof w);
  w.caller = pthread_self();
  return w;
}

static knng_control control_of(witness* w) {
  const knng_control c = {sizeof(knng_control), 1, on_progress, on_log, w, NULL, 0};
  return c;
}

/* Work for some seconds: power sums are slow, and the fused engine gets more rows. */
static knng* slow_handle(test_rows* rows, int fused) {
  *rows = rows_normal(KNNG_F32, small_run() ? 3000 : fused ? 60000 : 20000, fused ? 128 : 64, 61);
  return HANDLE(rows, "device", "cpu", "metric", fused ? "euclidean" : "minkowski", "p", fused ? "auto" : "1.7",
                "threads", "2", "engine", fused ? "fused" : "direct");
}

static void progress_is_told_to_the_caller(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, small_run() ? 600 : 2000, 32, 62);
  knng* h = HANDLE(&rows, "device", "cpu", "metric", "minkowski", "p", "1.7");
  knng_graph *plain = built(h, 5), *g = NULL;
  witness w = new_witness();
  const knng_control c = control_of(&w);
  expect_ok(knng_build(h, 5, &c, &g, NULL), "knng_build");
  assert_int_equal(w.wrong_thread, 0);
  assert_int_equal(w.wrong_numbers, 0);
  assert_int_equal(w.went_back, 0);
  assert_true(w.calls >= 3 && w.stages >= 1);
  expect_same_graph(plain, g, "with and without progress");
  knng_graph_destroy(g);

  w = new_witness();
  w.build_inside = 1;
  expect_ok(knng_build(h, 5, &c, &g, NULL), "knng_build with a build in the callback");
  assert_int_equal(w.wrong_thread, 0);
  expect_same_graph(plain, g, "with a build in the callback");
  knng_graph_destroy(g);
  knng_graph_destroy(plain);
  knng_destroy(h);
  rows_free(&rows);
}

static void stop_at_every_call(const char* metric, const char* engine) {
  test_rows rows = rows_normal(KNNG_F32, small_run() ? 250 : 600, 32, 63);
  knng* h = HANDLE(&rows, "device", "cpu", "metric", metric, "engine", engine, "p",
                   strcmp(metric, "minkowski") == 0 ? "1.7" : "auto", "tile_rows", "8", "tile_cols", "8");
  knng_graph* plain = built(h, 5);
  int stopped = 0;
  for (int at = 1; at <= 60; ++at) {
    witness w = new_witness();
    w.stop_at = at;
    const knng_control c = control_of(&w);
    knng_graph* g = NULL;
    const knng_status status = knng_build(h, 5, &c, &g, NULL);
    if (status == KNNG_OK) {
      expect_same_graph(plain, g, "not stopped");
      knng_graph_destroy(g);
      break;
    }
    EXPECT_ERROR(status, KNNG_ERR_CANCELLED, "stopped");
    assert_null(g);
    ++stopped;
  }
  assert_true(stopped >= 2);
  knng_graph* after = built(h, 5);
  expect_same_graph(plain, after, "before and after being stopped");
  knng_graph_destroy(plain);
  knng_graph_destroy(after);
  knng_destroy(h);
  rows_free(&rows);
}

static void a_callback_stops_at_any_point(void** state) {
  (void)state;
  stop_at_every_call("minkowski", "direct");
  stop_at_every_call("euclidean", "direct");
  stop_at_every_call("euclidean", "fused");
}

static void a_flag_that_is_up_stops_everything(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 8, 64);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph *plain = built(h, 5), *g = NULL;
  volatile int32_t stop = 1;
  knng_control c = {sizeof(knng_control), 0, NULL, NULL, NULL, &stop, 0};
  const knng_matrix m = matrix_of(&rows);
  int64_t wrong = 0;
  EXPECT_ERROR(knng_build(h, 5, &c, &g, &reported), KNNG_ERR_CANCELLED, "stopped");
  assert_null(g);
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 5, &c, &g, &reported), KNNG_ERR_CANCELLED, "stopped");
  assert_null(g);
  EXPECT_ERROR(knng_check(h, plain, 0, &c, &wrong, &reported), KNNG_ERR_CANCELLED, "stopped");
  EXPECT_ERROR(knng_add(h, &m, &c, &reported), KNNG_ERR_CANCELLED, "stopped");
  EXPECT_ERROR(knng_borrow(h, &m, &c, &reported), KNNG_ERR_CANCELLED, "stopped");
  int64_t held = 0;
  expect_ok(knng_shape(h, &held, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(held, 300);
  stop = 0;
  expect_ok(knng_build(h, 5, &c, &g, NULL), "knng_build");
  expect_same_graph(plain, g, "after the flag went down");
  knng_graph_destroy(g);
  knng_graph_destroy(plain);
  knng_destroy(h);
  rows_free(&rows);
}

/* So slow that it is called at every chance. */
static int32_t on_slow_progress(void* user, const char* stage, double done, double total) {
  const struct timespec wait = {0, 2 * 1000 * 1000};
  nanosleep(&wait, NULL);
  return on_progress(user, stage, done, total);
}

/* Some 40 MB, in blocks: each is reported, and after each the call can be stopped; then the data set is as it was. */
static void adding_can_be_stopped_midway(void** state) {
  (void)state;
  enum { d = 64 };
  const int64_t rows = 160 * 1000;
  float* x = calloc((size_t)(rows * d), sizeof *x);
  assert_non_null(x);
  const knng_matrix m = knng_packed(KNNG_F32, rows, d, x);
  for (int borrows = 0; borrows < 2; ++borrows) {
    knng* h = HANDLE(NULL, "device", "cpu");
    witness w = new_witness();
    knng_control c = control_of(&w);
    c.progress = on_slow_progress;
    expect_ok(borrows ? knng_borrow(h, &m, &c, NULL) : knng_add(h, &m, &c, NULL), "all of it");
    assert_true(w.calls > 5 && w.wrong_thread == 0 && w.wrong_numbers == 0 && w.went_back == 0);
    const int all = w.calls;
    volatile int32_t stop = 0;
    for (int by_flag = 0; by_flag < 2; ++by_flag) {
      w = new_witness();
      w.stop_at = all / 2;
      if (by_flag) w.flag = &stop;
      c.stop = by_flag ? &stop : NULL;
      EXPECT_ERROR(borrows ? knng_borrow(h, &m, &c, &reported) : knng_add(h, &m, &c, &reported), KNNG_ERR_CANCELLED,
                   "stopped");
      assert_int_equal(w.calls, all / 2);
      assert_true(w.done > 0 && w.done < (double)rows);
      int64_t held = 0;
      expect_ok(knng_shape(h, &held, NULL, NULL, NULL), "knng_shape");
      assert_int_equal(held, rows);
    }
    knng_destroy(h);
  }
  free(x);
}

static void stopping_takes_less_than_a_second(void** state) {
  (void)state;
  for (int variant = 0; variant < 4; ++variant) {
    test_rows rows;
    knng* h = slow_handle(&rows, variant & 1);
    witness w = new_witness();
    const knng_control c = {.struct_size = sizeof c, .progress = variant & 2 ? on_progress : NULL, .user = &w};
    double delay = 0;
    const knng_status status = stopped_build(h, 5, c, 0.2, &delay);
    if (!small_run() || status != KNNG_OK) { /* a small run may be too brief to be stopped */
      assert_int_equal(status, KNNG_ERR_CANCELLED);
      /* The promise is a second on a machine of its own; a busy one gets more. */
      if (delay > (small_run() ? 20 : 3)) fail_msg("stopped after %.2f s", delay);
    }
    knng_destroy(h);
    rows_free(&rows);
  }
}

static void a_callback_can_use_the_flag(void** state) {
  (void)state;
  test_rows rows;
  knng* h = slow_handle(&rows, 0);
  volatile int32_t stop = 0;
  witness w = new_witness();
  w.stop_at = 2;
  w.flag = &stop;
  knng_control c = control_of(&w);
  c.stop = &stop;
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 5, &c, &g, &reported), KNNG_ERR_CANCELLED, "stopped");
  assert_null(g);
  knng_destroy(h);
  rows_free(&rows);
}

static void a_wrong_control_is_refused(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 20, 3, 65);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = NULL;
  knng_control c = {8, 0, NULL, NULL, NULL, NULL, 0};
  EXPECT_ERROR(knng_build(h, 2, &c, &g, &reported), KNNG_ERR_ARGUMENT, "struct_size", "8");
  struct {
    knng_control known;
    int64_t unknown;
  } newer;
  memset(&newer, 0, sizeof newer);
  newer.known.struct_size = sizeof newer;
  expect_ok(knng_build(h, 2, &newer.known, &g, NULL), "a newer header, its new members 0");
  knng_graph_destroy(g);
  c.struct_size = 40; /* of the header before max_bytes */
  expect_ok(knng_build(h, 2, &c, &g, NULL), "an older header");
  knng_graph_destroy(g);
  c = (knng_control){sizeof c, 0, NULL, NULL, NULL, NULL, 1000};
  EXPECT_ERROR(knng_build(h, 2, &c, &g, &reported), KNNG_ERR_ARGUMENT, "max_bytes=1000", "max_host_bytes");
  c.max_bytes = -1;
  EXPECT_ERROR(knng_graph_load(&g, "none", &c, &reported), KNNG_ERR_RANGE, "max_bytes=-1");
  newer.unknown = 1;
  EXPECT_ERROR(knng_build(h, 2, &newer.known, &g, &reported), KNNG_ERR_UNSUPPORTED, "control", "48");
  assert_null(g);
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(progress_is_told_to_the_caller),     cmocka_unit_test(a_callback_stops_at_any_point),
      cmocka_unit_test(a_flag_that_is_up_stops_everything), cmocka_unit_test(stopping_takes_less_than_a_second),
      cmocka_unit_test(adding_can_be_stopped_midway),       cmocka_unit_test(a_callback_can_use_the_flag),
      cmocka_unit_test(a_wrong_control_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
