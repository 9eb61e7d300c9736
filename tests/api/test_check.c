/* knng_check and check_rows: they find every kind of difference, and none where there is none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

enum { n = 160, k = 6 };

static int64_t first_wrong(const knng* h, const knng_graph* g, int64_t sample) {
  int64_t wrong = -7;
  expect_ok(knng_check(h, g, sample, NULL, &wrong, NULL), "knng_check");
  return wrong;
}

static void right_graphs_pass(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F32, n, 9, 121);
  for (int m = 0; m < metric_count(); ++m)
    for (int variant = 0; variant < 4; ++variant) {
      if (variant & 1 && !has_similarity(&metric_cases[m])) continue;
      knng* h = HANDLE(&rows, "device", "cpu", "value", variant & 1 ? "similarity" : "distance", "self",
                       variant & 2 ? "first" : "exclude");
      set_metric(h, &metric_cases[m]);
      knng_graph* g = built(h, k);
      assert_int_equal(first_wrong(h, g, 0), -1);
      assert_int_equal(first_wrong(h, g, 17), -1);
      assert_int_equal(first_wrong(h, g, n), -1);
      knng_graph_destroy(g);
      knng_destroy(h);
    }
  rows_free(&rows);
}

/* A graph with one entry changed, made by importing copies. */
static knng_graph* with(const knng_graph* g, int64_t at, int64_t id, double value) {
  int64_t ids[n * k];
  float values[n * k];
  knng_matrix im = knng_packed(KNNG_I64, n, k, ids), vm = knng_packed(KNNG_F32, n, k, values);
  expect_ok(knng_graph_copy(g, 0, &im, &vm, NULL), "copy");
  if (id >= 0) ids[at] = id;
  if (value >= 0) values[at] = (float)value;
  knng_graph* changed = NULL;
  expect_ok(knng_graph_import(&changed, &im, &vm, 0, im.rows, 1, NULL), "import");
  return changed;
}

static int64_t not_listed(const knng_graph* g, int64_t row) {
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL);
  expect_ok(knng_graph_view(g, &ids, NULL, NULL), "view");
  for (int64_t id = 0;; ++id) {
    int listed = id == row;
    for (int64_t j = 0; j < k; ++j) listed = listed || ((int64_t*)ids.data)[row * k + j] == id;
    if (!listed) return id;
  }
}

static void every_difference_is_found(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, n, 3, 5, 122);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, k);
  knng_matrix values = knng_packed(KNNG_F32, 0, 0, NULL);
  expect_ok(knng_graph_view(g, NULL, &values, NULL), "view");
  static const int64_t places[] = {0, 5, 60 * k, 60 * k + 3, n * k - 1};
  for (int i = 0; i < 5; ++i) {
    const int64_t at = places[i], row = at / k;
    knng_graph* changed = with(g, at, -1, -1);
    assert_int_equal(first_wrong(h, changed, 0), -1); /* imported, unchanged */
    knng_graph_destroy(changed);
    changed = with(g, at, not_listed(g, row), -1);
    assert_int_equal(first_wrong(h, changed, 0), row);
    knng_graph_destroy(changed);
    const float value = ((float*)values.data)[at];
    changed = with(g, at, -1, nextafterf(value, 1e30f)); /* one unit in the last place */
    assert_int_equal(first_wrong(h, changed, 0), row);
    assert_int_equal(first_wrong(h, changed, n), row);
    knng_graph_destroy(changed);
  }
  /* The right ids of another metric's graph with this metric's question. */
  expect_ok(knng_set(h, "metric", "chebyshev", NULL), "metric");
  assert_true(first_wrong(h, g, 0) >= 0);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static char logged[500];
static void keep_log(void* user, int32_t level, const char* text) {
  (void)user, (void)level;
  snprintf(logged, sizeof logged, "%s", text);
}

static void the_log_tells_what_differs(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, n, 3, 123);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, k);
  knng_graph* changed = with(g, 33 * k + 2, -1, 1e9);
  const knng_control c = {sizeof c, 0, NULL, keep_log, NULL, NULL, 0};
  int64_t wrong = -1;
  expect_ok(knng_check(h, changed, 0, &c, &wrong, NULL), "knng_check");
  assert_int_equal(wrong, 33);
  if (!strstr(logged, "33")) fail_msg("the log says '%s'", logged);
  knng_graph_destroy(g);
  knng_graph_destroy(changed);
  knng_destroy(h);
  rows_free(&rows);
}

static void other_shapes_are_refused(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, n, 3, 124), fewer = rows_normal(KNNG_F32, n - 1, 3, 124);
  knng *h = HANDLE(&rows, "device", "cpu"), *other = HANDLE(&fewer, "device", "cpu");
  knng_graph* g = built(h, k);
  int64_t wrong = 5;
  EXPECT_ERROR(knng_check(other, g, 0, NULL, &wrong, &reported), KNNG_ERR_ARGUMENT, "160", "159");
  EXPECT_ERROR(knng_check(h, g, -1, NULL, &wrong, &reported), KNNG_ERR_RANGE, "sample", "-1");
  knng_graph_destroy(g);
  knng_destroy(h);
  knng_destroy(other);
  rows_free(&rows);
  rows_free(&fewer);
}

/* Points on a line, each nearer to the one before than to the one behind. Every second one twice, if asked for. */
static void on_a_line(float* x, int64_t d, int twice) {
  memset(x, 0, (size_t)(n * d) * sizeof *x);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t place = twice ? i / 2 : i;
    x[i * d] = (float)(place * (place + 5));
  }
}

typedef struct meddler {
  float *moved, to; /* a coordinate of a row, and where it goes */
  int searched, moves;
} meddler;

/* Moves a row when lists have been made and their check begins. That is against knng_borrow()'s rules, and has the
 * effect of a search that has missed a row: what is listed is not what the rows say. */
static int32_t move_a_row(void* user, const char* stage, double done, double total) {
  (void)done, (void)total;
  meddler* m = user;
  if (strcmp(stage, "distances") == 0) m->searched = 1; /* queries are looked at before, by a stage of that name, too */
  if (!m->searched || strcmp(stage, "check") != 0) return 0;
  *m->moved = m->to;
  ++m->moves;
  return 0;
}

/* The status of a build, or of a query with two rows, while the last row goes to where row 40 is. */
static knng_status meddled(const char* engine, const char* check_rows, int twice, int asks, meddler* m,
                           knng_graph** g) {
  enum { d = 16 };
  static float x[n * d];
  on_a_line(x, d, twice);
  knng* h = HANDLE(NULL, "device", "cpu", "engine", engine, "check_rows", check_rows);
  const knng_matrix rows = knng_packed(KNNG_F32, n, d, x);
  expect_ok(knng_borrow(h, &rows, NULL, NULL), "borrow");
  *m = (meddler){&x[(n - 1) * d], x[40 * d], 0, 0};
  /* So little is done by the calling thread, which calls progress where a stage begins: nothing runs meanwhile. */
  const knng_control c = {sizeof c, 0, move_a_row, NULL, m, NULL, 0};
  float q[2 * d] = {0};
  q[0] = x[7 * d], q[d] = x[40 * d];
  const knng_matrix queries = knng_packed(KNNG_F32, 2, d, q);
  const knng_status status =
      asks ? knng_query(h, &queries, NULL, 0, 3, &c, g, &reported) : knng_build(h, twice ? 2 : 1, &c, g, &reported);
  knng_destroy(h);
  return status;
}

static void a_build_that_lists_the_wrong_row_fails(void** state) {
  (void)state;
  static const char* const engines[] = {"fused", "tiled", "tree"};
  for (size_t e = 0; e < sizeof engines / sizeof *engines; ++e)
    for (int variant = 0; variant < 4; ++variant) {
      const int asks = variant & 1, twice = variant & 2;
      meddler m;
      knng_graph* g = NULL;
      EXPECT_ERROR(meddled(engines[e], "160", twice, asks, &m, &g), KNNG_ERR_CHECK, "check_rows");
      assert_null(g);
      assert_int_equal(m.moves, 1);
      assert_string_equal(reported.argument, "check_rows");
      assert_int_equal(reported.row, asks ? 1 : 40);
      /* Nothing else sees it. */
      expect_ok(meddled(engines[e], "0", twice, asks, &m, &g), engines[e]);
      assert_true(m.searched && m.moves == 0);
      knng_graph_destroy(g);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_graphs_pass),
      cmocka_unit_test(every_difference_is_found),
      cmocka_unit_test(the_log_tells_what_differs),
      cmocka_unit_test(other_shapes_are_refused),
      cmocka_unit_test(a_build_that_lists_the_wrong_row_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
