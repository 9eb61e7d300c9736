/* Calls on devices, each in turn: its memory is full, or a stop comes while it is under way. Nothing stays behind, and
 * the handle goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* Builds that between them make every call on a session; `calls` ends with NULL. */
typedef struct build_case {
  const char *device, *engine, *tile;
  int64_t n, d;
  int smallest; /* in the smallest memory: points come block by block */
  const char* calls[10];
} build_case;
static const build_case builds[] = {
    {"cuda:0", "tiled", "64", 300, 16, 0, {"open", "begin", "sample", "tile", "settle", "refine", "redo"}},
    {"cuda:2,0,1", "tiled", "32", 300, 16, 0, {"open", "begin", "tile", "heed", "settle", "absorb", "refine", "redo"}},
    {"cuda:0", "tiled", "0", 500, 301, 1, {"tile", "begin_keys", "keys", "refine"}},
    {"cuda:0,1", "tiled", "0", 500, 301, 1, {"tile", "absorb", "begin_keys", "keys", "refine"}},
    {"cuda:0", "direct", "32", 200, 3, 0, {"open", "answer"}},
    {"cuda:1,0", "direct", "32", 200, 3, 0, {"open", "answer"}}};
enum { build_count = sizeof builds / sizeof *builds, most_calls = 400 };

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
  if (b->smallest) set_bytes(a->h, "max_device_bytes", planned(a->h, 0, a->q.k).smallest_device);
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
  assert_int_equal(fake_count("sessions", 0), 0);
  assert_int_equal(fake_count("bytes", 0), 0);
  devices_behave("");
  knng_error no_failure;
  expect_answer(a->h, &a->q, a->expected, &no_failure, label);
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
  const knng_control c = {sizeof(knng_control), 0, NULL, NULL, NULL, &stop};
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

/* For the first such call of a session, the second and so on, until there are no more: each is made and is met. */
static void at_every_call(int (*once)(const asked*, const char*, int)) {
  for (int b = 0; b < build_count; ++b) {
    asked a;
    ask(&a, &builds[b]);
    for (const char* const* call = builds[b].calls; *call; ++call) {
      int n = 1;
      while (n < most_calls && once(&a, *call, n)) ++n;
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
  at_every_call(run_out_of_memory);
}

static void stops_at_every_call(void** state) {
  (void)state;
  if (!fake_devices) skip();
  at_every_call(stop_while);
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(out_of_memory_at_every_call),
      DEVICE_TEST(stops_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
