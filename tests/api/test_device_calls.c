/* Calls on devices, each in turn: its memory is full, or a stop comes while it is under way. Nothing stays behind, the
 * handle goes on, and borrowed rows are as they were however a build ended. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* Builds that between them make every call on a session; `calls` ends with NULL. */
typedef struct build_case {
  const char *device, *engine, *tile;
  int64_t n, d;
  int blocks; /* 1: points come block by block; 2: and lists are there in slices, in the least memory at all */
  const char* calls[10];
} build_case;
static const build_case builds[] = {
    {"cuda:0",
     "tiled",
     "64",
     300,
     16,
     0,
     {"open", "begin", "sample", "first_cutoffs", "tile", "settle", "refine", "redo"}},
    {"cuda:2,0,1",
     "tiled",
     "32",
     300,
     16,
     0,
     {"open", "begin", "first_cutoffs", "tile", "adopt_cutoffs", "settle", "merge_lists", "refine", "redo"}},
    {"cuda:0", "tiled", "0", 500, 301, 1, {"tile", "begin_keys", "keys", "refine"}},
    {"cuda:0,1", "tiled", "0", 500, 301, 1, {"tile", "merge_lists", "begin_keys", "keys", "refine"}},
    {"cuda:0,1", "tiled", "0", 300, 5, 2, {"open", "begin", "tile", "merge_lists", "refine"}},
    {"cuda:0", "tree", "32", 200, 3, 0, {"open", "answer"}},
    {"cuda:1,0", "tree", "32", 200, 3, 0, {"open", "answer"}}};
enum { build_count = sizeof builds / sizeof *builds, one_in_blocks = 2, two_in_blocks = 3, most_calls = 400 };

typedef struct asked {
  const build_case* b;
  test_rows rows;
  question q;
  knng* h;
  knng_graph* expected;
  double tiles; /* of a build that is left alone */
} asked;

static void ask(asked* a, const build_case* b) {
  a->b = b;
  a->rows = b->d == 16 ? heaps(b->n, 12) : rows_positive(KNNG_F32, b->n, b->d, 327); /* heaps climb the ladder */
  a->q = question_of(&a->rows, &metric_cases[1], 5);
  a->expected = graph_of_cpu(&a->q);
  a->h = handle_for(&a->q, b->device, b->engine, "auto", b->tile);
  if (b->blocks) give_least_memory(a->h, 0, a->q.k, b->blocks == 2);
  knng_graph* g = built(a->h, a->q.k);
  expect_same(a->expected, g, "left alone");
  a->tiles = stat_of(g, "tiles");
  knng_graph_destroy(g);
}

static void asked_free(asked* a) {
  knng_destroy(a->h);
  knng_graph_destroy(a->expected);
  rows_free(&a->rows);
}

/* All devices: whichever makes the n-th of its calls. */
static void behave_at(const char* what, const char* call, int n) {
  char behaviour[240];
  snprintf(behaviour, sizeof behaviour, "0:%s_at_%s=%d;1:%s_at_%s=%d;2:%s_at_%s=%d", what, call, n, what, call, n, what,
           call, n);
  devices_behave(behaviour);
}

static int alone(const asked* a) { return strcmp(a->b->device, "cuda:0") == 0; }

static void expect_nothing_left(const asked* a, const char* label) {
  static int turn;
  assert_int_equal(fake_count("sessions", 0), 0);
  assert_int_equal(fake_count("bytes", 0), 0);
  devices_behave("");
  if (!tried(turn++, 3)) return;
  expect_answer(a->h, &a->q, a->expected, NULL, label);
}

/* The library may answer a full device with a plan that needs less, and end well, or say that there is none. */
static int run_out_of_memory(const asked* a, const char* call, int n) {
  char label[80];
  snprintf(label, sizeof label, "%s after out of memory at %s %d", a->b->device, call, n);
  knng_graph* g = NULL;
  const int64_t before = fake_count("failures", 0);
  behave_at("out_of_memory", call, n);
  const knng_status status = answer(a->h, &a->q, NULL, &g);
  const int failed = fake_count("failures", 0) > before;
  if (status == KNNG_OK) {
    expect_same(a->expected, g, label);
    knng_graph_destroy(g);
  } else {
    EXPECT_ERROR(status, KNNG_ERR_MEMORY, alone(a) ? "cuda:0" : "cuda:");
    assert_null(g);
    assert_true(failed);
  }
  expect_nothing_left(a, label);
  return failed;
}

static int stop_while(const asked* a, const char* call, int n) {
  char label[80];
  snprintf(label, sizeof label, "%s after a stop at %s %d", a->b->device, call, n);
  volatile int32_t stop = 0;
  const knng_control c = {sizeof(knng_control), 0, NULL, NULL, NULL, &stop, 0};
  knng_graph* g = NULL;
  const int64_t before = fake_count("tiles", 0);
  fake_stop(&stop);
  behave_at("stop_comes", call, n);
  const knng_status status = answer(a->h, &a->q, &c, &g);
  fake_stop(NULL);
  const int64_t tiles = fake_count("tiles", 0) - before;
  if (stop) {
    EXPECT_ERROR(status, KNNG_ERR_CANCELLED, "stopped");
    assert_null(g);
    /* The one that is under way may end, and no other begins. */
    if (alone(a) && (strcmp(call, "tile") == 0 || strcmp(call, "answer") == 0)) assert_in_range(tiles, n - 1, n);
  } else {
    expect_ok(status, label);
    expect_same(a->expected, g, label);
    knng_graph_destroy(g);
  }
  expect_nothing_left(a, label);
  return stop;
}

/* The first such call of a session that is not made: all before are tried. In a small run fewer and fewer of them, and
 * the last between one that is made and one that is not. */
static int first_not_met(int (*once)(const asked*, const char*, int), const asked* a, const char* call) {
  int met = 0, step = 1, found = 0;
  while (met + 1 < most_calls) {
    if (met + step < most_calls && once(a, call, met + step)) {
      met += step;
      if (small_run()) step = found ? (step + 1) / 2 : 2 * step;
    } else if (step == 1) {
      return met + 1;
    } else {
      found = 1;
      step /= 2;
    }
  }
  return most_calls;
}

/* For the first such call of a session, the second and so on, until there are no more: each is made and is met. A small
 * run does not try the build `left_out`, whose calls others make as well. */
static void at_every_call(int (*once)(const asked*, const char*, int), int left_out) {
  for (int b = 0; b < build_count; ++b) {
    if (small_run() && b == left_out) continue;
    asked a;
    ask(&a, &builds[b]);
    for (const char* const* call = builds[b].calls; *call; ++call) {
      const int n = first_not_met(once, &a, *call);
      if (n == 1 || n == most_calls) fail_msg("%s: %s was met %d times", builds[b].device, *call, n - 1);
      if (alone(&a) && (strcmp(*call, "tile") == 0 || strcmp(*call, "answer") == 0))
        assert_int_equal(n - 1, (int)a.tiles);
    }
    asked_free(&a);
  }
}

static void out_of_memory_at_every_call(void** state) {
  (void)state;
  if (!fake_devices) skip();
  at_every_call(run_out_of_memory, one_in_blocks);
}

static void stops_at_every_call(void** state) {
  (void)state;
  if (!fake_devices) skip();
  at_every_call(stop_while, two_in_blocks);
}

/* Of GPUs, whose sessions are made to hold less than was planned: any of what a session takes may be too much. */
static void out_of_memory_at_any_amount(void** state) {
  (void)state;
  if (!injecting_faults) skip();
  enum { steps = 48 };
  static const build_case can_do_with_less = {"cuda:0", "tiled", "0", 3000, 64, 0, {NULL}};
  for (int b = 0; b <= build_count; ++b) {
    const build_case* const build = b < build_count ? &builds[b] : &can_do_with_less;
    asked a;
    ask(&a, build);
    const int64_t bytes = planned(a.h, 0, a.q.k).device_bytes;
    int failed = 0;
    for (int step = 0; step < steps; ++step) {
      const long long holds = bytes * step / steps;
      char behaviour[120], label[60];
      snprintf(behaviour, sizeof behaviour, "0:holds=%lld;1:holds=%lld;2:holds=%lld", holds, holds, holds);
      snprintf(label, sizeof label, "%s, %s with %lld bytes", build->device, build->engine, holds);
      devices_behave(behaviour);
      knng_graph* g = NULL;
      const knng_status status = answer(a.h, &a.q, NULL, &g);
      if (status == KNNG_OK) {
        expect_same(a.expected, g, label);
        knng_graph_destroy(g);
      } else {
        EXPECT_ERROR(status, KNNG_ERR_MEMORY, "max_device_bytes is used up");
        assert_null(g);
        ++failed;
      }
      expect_nothing_left(&a, label);
    }
    printf("%s, %s, %" PRId64 " bytes planned: with less %d of %d ended well\n", build->device, build->engine, bytes,
           steps - failed, steps);
    assert_true(failed > 0);
    assert_true(build != &can_do_with_less || failed < steps);
    asked_free(&a);
  }
}

/* Rows in memory of the caller's, with gaps that are no part of them; and what the memory was. */
typedef struct lent {
  int64_t bytes;
  unsigned char *now, *before;
  knng_matrix m;
} lent;

static lent lend(const test_rows* rows, int64_t gap) {
  const int64_t size = dtype_size(rows->dtype), width = rows->d * size, stride = width + gap * size;
  lent l = {rows->n * stride, malloc((size_t)(rows->n * stride)), malloc((size_t)(rows->n * stride)), {0}};
  assert_non_null(l.now);
  assert_non_null(l.before);
  memset(l.now, 0xa5, (size_t)l.bytes);
  for (int64_t i = 0; i < rows->n; ++i)
    memcpy(l.now + i * stride, (const unsigned char*)rows->data + i * width, (size_t)width);
  memcpy(l.before, l.now, (size_t)l.bytes);
  l.m = knng_packed(rows->dtype, rows->n, rows->d, l.now);
  l.m.row_stride = rows->d + gap;
  l.m.col_stride = 1;
  return l;
}

static void expect_untouched(const lent* l, const char* after) {
  for (int64_t i = 0; i < l->bytes; ++i)
    if (l->now[i] != l->before[i])
      fail_msg("byte %lld of borrowed rows changed in a build that %s", (long long)i, after);
}

static int32_t stop_at_once(void* user, const char* stage, double done, double total) {
  (void)stage;
  (void)done;
  (void)total;
  ++*(int*)user;
  return 1;
}

static knng* borrower(const lent* l, const question* q, const char* device, const char* engine) {
  knng* h = HANDLE(NULL, "device", device, "engine", engine);
  set_metric(h, &q->metric);
  expect_ok(knng_borrow(h, &l->m, NULL, NULL), "knng_borrow");
  return h;
}

static void expect_cancelled(const knng* h, const question* q, const lent* l) {
  int calls = 0;
  const knng_control c = {sizeof(knng_control), 1, stop_at_once, NULL, &calls, NULL, 0};
  knng_graph* g = NULL;
  EXPECT_ERROR(answer(h, q, &c, &g), KNNG_ERR_CANCELLED, "stopped");
  assert_null(g);
  assert_int_equal(calls, 1);
  expect_untouched(l, "was cancelled");
}

/* Devices that are none fail, and are stopped, in the middle as well. */
static void expect_failures(const knng* h, const question* q, const lent* l) {
  static const char* const calls[] = {"begin", "tile", "settle", "refine", "answer"};
  knng_graph* g = NULL;
  int failed = 0, stopped = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    behave_at("fails", calls[i], 1);
    const knng_status status = answer(h, q, NULL, &g);
    if (status == KNNG_OK) { /* not a call of this build */
      knng_graph_destroy(g);
    } else {
      EXPECT_ERROR(status, KNNG_ERR_DEVICE, "injected failure");
      assert_null(g);
      ++failed;
    }
    expect_untouched(l, "failed");
    volatile int32_t stop = 0;
    const knng_control c = {sizeof(knng_control), 0, NULL, NULL, NULL, &stop, 0};
    fake_stop(&stop);
    behave_at("stop_comes", calls[i], 1);
    if (answer(h, q, &c, &g) == KNNG_OK)
      knng_graph_destroy(g);
    else
      ++stopped;
    fake_stop(NULL);
    expect_untouched(l, "was stopped");
  }
  assert_true(failed >= 1 && stopped == failed);
  devices_behave("");
}

static void expect_refused(knng* h, const question* q, const lent* l) {
  knng_graph* g = NULL;
  expect_ok(knng_set(h, "max_device_bytes", "1", NULL), "max_device_bytes");
  EXPECT_ERROR(answer(h, q, NULL, &g), KNNG_ERR_BUDGET, "max_device_bytes");
  assert_null(g);
  expect_untouched(l, "was refused");
  expect_ok(knng_set(h, "max_device_bytes", "0", NULL), "max_device_bytes");
}

static void borrowed_rows_stay_as_they_were(void** state) {
  (void)state;
  static const int32_t dtypes[] = {KNNG_F32, KNNG_F16, KNNG_I8};
  static const int64_t dims[] = {3 /* rows are answered */, 40};
  for (int t = 0; t < 3; ++t)
    for (int d = 0; d < 2; ++d) {
      test_rows rows = rows_normal(dtypes[t], 150, dims[d], 328);
      if (dtypes[t] != KNNG_I8) { /* which to compare with is as good as 0 */
        encode(dtypes[t], rows.data, dims[d] + 1, -0.0);
        rows.x[dims[d] + 1] = -0.0;
      }
      const question q = question_of(&rows, &metric_cases[t == 0 ? 2 : 0], 5); /* cosine, whose rows are scaled */
      knng_graph* expected = graph_of_cpu(&q);
      for (int way = 0; way < 4; ++way) {
        lent l = lend(&rows, way % 2 ? 0 : 3);
        knng* h = borrower(&l, &q, device_sets()[0], way / 2 == 0 ? "tiled" : d == 0 ? "tree" : "direct");
        expect_refused(h, &q, &l);
        if (fake_devices) expect_failures(h, &q, &l);
        expect_cancelled(h, &q, &l);
        knng_graph* g = built(h, q.k);
        expect_same(expected, g, "borrowed");
        knng_graph_destroy(g);
        expect_untouched(&l, "ended well");
        knng_destroy(h);
        expect_untouched(&l, "is over");
        free(l.now);
        free(l.before);
      }
      knng_graph_destroy(expected);
      rows_free(&rows);
    }
}

/* Rows that the metric refuses when a device has read them. */
static void refused_rows_stay_as_they_were(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F32, 150, 40, 329);
  ((float*)rows.data)[90 * 40 + 7] = -1;
  int hellinger = 0;
  while (strcmp(metric_cases[hellinger].metric, "hellinger") != 0) ++hellinger;
  const question q = question_of(&rows, &metric_cases[hellinger], 5);
  lent l = lend(&rows, 1);
  knng* h = borrower(&l, &q, device_sets()[0], "tiled");
  knng_graph* g = NULL;
  EXPECT_ERROR(answer(h, &q, NULL, &g), KNNG_ERR_DATA, "90", "7");
  assert_null(g);
  expect_untouched(&l, "was refused for its rows");
  knng_destroy(h);
  free(l.now);
  free(l.before);
  rows_free(&rows);
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(out_of_memory_at_every_call),    DEVICE_TEST(stops_at_every_call),
      DEVICE_TEST(out_of_memory_at_any_amount),    DEVICE_TEST(borrowed_rows_stay_as_they_were),
      DEVICE_TEST(refused_rows_stay_as_they_were),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
