/* engine=tree: few dimensions, against the oracle and against engine=direct. Every metric whose boxes have a bound,
 * every type, odd sizes, ties, equal rows, values at which arithmetic goes wrong first. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static const engine_case tree[] = {{"tree", "auto"}, {NULL, NULL}};
static const char* const threads[] = {"1", "2", "4", NULL};
static const tile_size tiles[] = {{"0", "0"}};

static int has_bound(const metric_case* m) {
  static const char* const others[] = {"inner_product", "canberra", "braycurtis", "jensenshannon"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (strcmp(m->metric, others[i]) == 0) return 0;
  return 1;
}

/* A metric of those with a bound, another one each time. */
static const metric_case* next_metric(const test_rows* rows) {
  static int turn;
  for (;;) {
    const metric_case* m = &metric_cases[turn++ % METRIC_CASES];
    if (has_bound(m) && metric_takes(m, rows)) return m;
  }
}

static void check_with(const test_rows* rows, const metric_case* m, int64_t k) {
  const oracle_task task = task_of(m);
  oracle_graph expected = oracle_build(&task, rows->n, rows->d, rows->x, k);
  check_build(rows, m, k, &expected, tree, threads, tiles, 1, ALL_TILES);
  oracle_graph_free(&expected);
}
static void check(test_rows rows, int64_t k) {
  check_with(&rows, next_metric(&rows), k);
  rows_free(&rows);
}

static void every_metric_and_type(void** state) {
  (void)state;
  for (int t = 0; t < ROW_DTYPES; ++t)
    for (int64_t d = 1; d <= 3; d += 2)
      for (int m = 0; m < METRIC_CASES; ++m) {
        if (!has_bound(&metric_cases[m])) continue;
        test_rows rows = rows_positive(row_dtypes[t], 77, d, 301);
        check_with(&rows, &metric_cases[m], 6);
        rows_free(&rows);
      }
}

static void every_size(void** state) {
  (void)state;
  int turn = 0;
  for (int64_t n = 2; n <= 300; n += n < 40 ? 1 : 7)
    for (int64_t d = 1; d <= 9; d += n % 3 + 1) {
      const int64_t ks[] = {1, 10, 33, n - 1};
      for (int i = 0; i < 4; ++i)
        if (ks[i] < n && (i == 3 || ks[i] < n - 1) && tried(turn++, 5))
          check(rows_normal(KNNG_F32, n, d, (uint64_t)(n * 10 + d)), ks[i]);
    }
}

static void ties_and_equal_rows(void** state) {
  (void)state;
  int turn = 0;
  for (int levels = 1; levels <= 4; ++levels)
    for (int64_t d = 1; d <= 12; d += 3)
      for (int i = 0; i < 4; ++i) {
        const int64_t ks[] = {1, 7, 50, 259};
        if (!tried(turn++, 2)) continue;
        check(rows_grid(KNNG_U8, 260, d, levels, (uint64_t)(levels * 100 + d)), ks[i]);
      }
  check(rows_shuttle(KNNG_I16, 300, 5), 20);
}

/* Rows of n x d doubles, whose squares do not leave fp64. */
static void check_values(const double* x, int64_t n, int64_t d, int64_t k, const char* p) {
  const metric_case cases[] = {
      {"euclidean", "2", 1}, {"manhattan", "2", 0}, {"chebyshev", "2", 0}, {"minkowski", p, 0}};
  test_rows rows = rows_from(KNNG_F64, n, d, x);
  for (int c = 0; c < 4; ++c) {
    const oracle_task task = task_of(&cases[c]);
    oracle_graph expected = oracle_build(&task, n, d, rows.x, k);
    for (int t = 0; threads[t]; ++t) {
      knng* h = HANDLE(&rows, "device", "cpu", "engine", "tree", "value_type", "f64", "threads", threads[t]);
      set_metric(h, &cases[c]);
      knng_graph* g = built(h, k);
      expect_graph(g, &expected, cases[c].metric);
      char text[32];
      expect_ok(knng_graph_text(g, "engine", text, sizeof text, NULL, NULL), "engine");
      assert_string_equal(text, "tree");
      knng_graph_destroy(g);
      knng_destroy(h);
    }
    oracle_graph_free(&expected);
  }
  rows_free(&rows);
}

enum { n = 190, d = 3 };

static void nasty_values(void** state) {
  (void)state;
  static double x[n * d];
  uint64_t seed = 401;
  static const double scales[] = {5e-324, 1e-310, 1e-160, 1e-155, 1e-30, 1, 1e30, 1e140};
  for (size_t s = 0; s < sizeof scales / sizeof *scales; ++s) {
    for (int i = 0; i < n * d; ++i) x[i] = scales[s] * floor(1000 * roughly_normal(&seed));
    check_values(x, n, d, 9, s % 2 ? "1.7" : "0.5");
  }
  for (int i = 0; i < n * d; ++i) x[i] = ldexp(roughly_normal(&seed), (int)(900 * uniform(&seed)) - 450);
  check_values(x, n, d, 12, "0.5");
  for (int i = 0; i < n * d; ++i) x[i] = i % 5 ? 1 + ldexp((double)(i % 4), -52) : -0.0; /* the last bits */
  check_values(x, n, d, 12, "1.7");
  for (int i = 0; i < n * d; ++i) x[i] = roughly_normal(&seed); /* an outlier */
  x[7] = 1e150;
  check_values(x, n, d, 5, "1.7");
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < d; ++t) x[i * d + t] = (double)(i * (t + 1)); /* on a line */
  check_values(x, n, d, 5, "0.5");
}

/* Coordinates as large as a metric takes; one step further is refused. */
static void values_at_the_limit(void** state) {
  (void)state;
  uint64_t seed = 402;
  const double limits[] = {sqrt(DBL_MAX / 2 / d) / 2, DBL_MAX / 4 / d, DBL_MAX / 2};
  static const metric_case cases[] = {{"sqeuclidean", "2", 1}, {"manhattan", "2", 0}, {"chebyshev", "2", 0}};
  for (int c = 0; c < 3; ++c) {
    double x[n * d];
    for (int i = 0; i < n * d; ++i)
      x[i] = (uniform(&seed) < 0.5 ? -1 : 1) * limits[c] * (i % 3 ? 1 - 1e-9 : uniform(&seed));
    test_rows rows = rows_from(KNNG_F64, n, d, x);
    const oracle_task task = task_of(&cases[c]);
    oracle_graph expected = oracle_build(&task, n, d, rows.x, 8);
    knng* h = HANDLE(&rows, "device", "cpu", "engine", "tree", "metric", cases[c].metric);
    knng_graph* g = built(h, 8);
    expect_graph(g, &expected, cases[c].metric);
    knng_graph_destroy(g);
    knng_destroy(h);
    oracle_graph_free(&expected);
    rows_free(&rows);
  }
}

static void queries(void** state) {
  (void)state;
  for (int variant = 0; variant < 60; ++variant) {
    const int64_t dim = 1 + variant % 9, rows_n = 40 + 17 * (variant % 13), queries_n = 1 + variant * 5 % 71;
    test_rows rows = variant % 2 ? rows_grid(KNNG_F32, rows_n, dim, 3, 501) : rows_normal(KNNG_F32, rows_n, dim, 501);
    test_rows asked = rows_grid(KNNG_I8, queries_n, dim, 3, 502);
    int64_t leave_out[71];
    for (int64_t i = 0; i < queries_n; ++i) leave_out[i] = i % 3 ? i * 37 % rows_n : -1;
    const metric_case* m = next_metric(&rows);
    const oracle_task task = task_of(m);
    const int64_t k = variant % 4 == 3 ? rows_n - 1 : 1 + variant % 20;
    oracle_graph expected =
        oracle_query(&task, rows_n, dim, rows.x, queries_n, asked.x, variant % 3 ? leave_out : NULL, k);
    knng* h = HANDLE(&rows, "device", "cpu", "engine", "tree", "threads", threads[variant % 3], "value_type", "f64");
    set_metric(h, m);
    const knng_matrix q = matrix_of(&asked), ids = knng_packed(KNNG_I64, queries_n, 1, leave_out);
    knng_graph* g = NULL;
    expect_ok(knng_query(h, &q, variant % 3 ? &ids : NULL, 0, k, NULL, &g, NULL), "knng_query");
    char label[80];
    snprintf(label, sizeof label, "%s p=%s variant %d", m->metric, m->p, variant);
    expect_graph(g, &expected, label);
    knng_graph_destroy(g);
    knng_destroy(h);
    oracle_graph_free(&expected);
    rows_free(&asked);
    rows_free(&rows);
  }
}

/* Rows without direction are at key 1 from all others. */
static void rows_without_direction(void** state) {
  (void)state;
  static const metric_case cases[] = {{"cosine", "2", 1}, {"correlation", "2", 1}, {"spearman", "2", 1}};
  double x[n * d];
  for (int zeros = 1; zeros <= n; zeros = zeros * 3 + 1) {
    uint64_t seed = 403;
    for (int i = 0; i < n * d; ++i) x[i] = i / d * 7 % n < zeros ? 0 : roughly_normal(&seed);
    test_rows rows = rows_from(KNNG_F32, n, d, x);
    for (int c = 0; c < 3; ++c) {
      check_with(&rows, &cases[c], 5);
      check_with(&rows, &cases[c], n - 1);
    }
    rows_free(&rows);
  }
}

static void what_it_says_of_itself(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 3000, 2, 601);
  knng* h = HANDLE(&rows, "device", "cpu", "engine", "tree");
  knng_graph* g = built(h, 10);
  /* Most pairs are left out, and some rows looked at again. */
  assert_true(stat_of(g, "keys") > 3000 * 10 && stat_of(g, "keys") < 3000 * 300);
  assert_true(stat_of(g, "checked") >= 4 && stat_of(g, "proved") == 3000);
  char text[32];
  expect_ok(knng_graph_text(g, "selector", text, sizeof text, NULL, NULL), "selector");
  assert_string_equal(text, "none");
  unsigned char proof[3000];
  knng_matrix out = knng_packed(KNNG_U8, 3000, 1, proof);
  expect_ok(knng_graph_rows(g, "proof", &out, NULL), "proof");
  for (int i = 0; i < 3000; ++i) assert_int_equal(proof[i], 4); /* by keys in fp64 alone */
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static void what_is_refused(void** state) {
  (void)state;
  knng_graph* g = NULL;
  test_rows rows = rows_positive(KNNG_F32, 50, 17, 602);
  knng* h = HANDLE(&rows, "device", "cpu", "engine", "tree");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_UNSUPPORTED, "engine=tree", "dimension 17", "16");
  assert_true(reported.given == 17 && reported.limit == 16);
  knng_destroy(h);
  rows_free(&rows);
  rows = rows_positive(KNNG_F32, 50, 3, 603);
  for (int m = 0; m < METRIC_CASES; ++m) {
    if (has_bound(&metric_cases[m])) continue;
    h = HANDLE(&rows, "device", "cpu", "engine", "tree");
    set_metric(h, &metric_cases[m]);
    EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_UNSUPPORTED, "engine=tree", metric_cases[m].metric,
                 "engine=auto");
    knng_destroy(h);
  }
  assert_null(g);
  rows_free(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_metric_and_type),
      cmocka_unit_test(every_size),
      cmocka_unit_test(ties_and_equal_rows),
      cmocka_unit_test(nasty_values),
      cmocka_unit_test(queries),
      cmocka_unit_test(values_at_the_limit),
      cmocka_unit_test(rows_without_direction),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(what_it_says_of_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
