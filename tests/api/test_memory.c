/* Memory: the budget holds, the smallest budget that is named works and one byte less does not, and estimates are what
 * is measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static knng_plan planned(const knng* h, int64_t nq, int64_t k) {
  knng_plan p;
  memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  expect_ok(knng_estimate(h, nq, k, &p, NULL), "knng_estimate");
  assert_true(p.host_bytes > 0 && p.smallest_host > 0 && p.smallest_host <= p.host_bytes);
  assert_true(p.tiles >= 1 && p.tile_rows >= 1 && p.tile_cols >= 1 && p.devices == 1);
  return p;
}

typedef struct problem {
  int64_t n, d, k, nq;
  const char *metric, *engine, *threads, *self;
} problem;

static const problem problems[] = {
    {2000, 16, 10, 0, "euclidean", "auto", "2", "exclude"},
    {2000, 16, 10, 0, "euclidean", "direct", "2", "exclude"},
    {2000, 16, 10, 0, "euclidean", "fused", "2", "exclude"},
    {700, 200, 50, 0, "cosine", "direct", "1", "first"},
    {700, 200, 5, 0, "cosine", "fused", "4", "first"},
    {1500, 30, 3, 0, "spearman", "direct", "3", "exclude"},
    {1500, 30, 3, 0, "spearman", "fused", "3", "exclude"},
    {500, 5, 499, 0, "manhattan", "auto", "0", "exclude"},
    {900, 64, 4, 300, "euclidean", "direct", "2", "exclude"},
    {1100, 64, 4, 300, "correlation", "fused", "2", "exclude"},
    {3000, 2, 1, 0, "sqeuclidean", "tiled", "1", "exclude"},
    {2000, 3, 200, 0, "manhattan", "tiled", "2", "first"},
    {3000, 20, 4, 200, "cosine", "tiled", "2", "exclude"},
    {3000, 2, 10, 0, "euclidean", "tree", "2", "exclude"},
    {2000, 7, 50, 0, "cosine", "tree", "1", "first"},
    {2000, 9, 3, 0, "minkowski", "tree", "3", "exclude"},
    {3000, 3, 4, 700, "chebyshev", "tree", "2", "exclude"},
    {2, 1, 1, 0, "euclidean", "auto", "1", "exclude"},
};

static knng_status run(const knng* h, const problem* p, const test_rows* queries, knng_graph** g) {
  if (!p->nq) return knng_build(h, p->k, NULL, g, &reported);
  const knng_matrix q = matrix_of(queries);
  return knng_query(h, &q, NULL, 0, p->k, NULL, g, &reported);
}

static void estimates_are_what_is_measured(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; ++i) {
    const problem* p = &problems[i];
    test_rows rows = rows_normal(KNNG_F32, p->n, p->d, 131), queries = rows_normal(KNNG_F32, p->nq + 1, p->d, 132);
    queries.n = p->nq;
    for (int borrow = 0; borrow < 2; ++borrow) {
      if (!tried((int)i * 2 + borrow, 2)) continue;
      knng* h = HANDLE(borrow ? NULL : &rows, "device", "cpu", "metric", p->metric, "engine", p->engine, "threads",
                       p->threads, "self", p->self);
      const knng_matrix m = matrix_of(&rows);
      if (borrow) expect_ok(knng_borrow(h, &m, NULL, NULL), "knng_borrow");
      const knng_plan plan = planned(h, p->nq, p->k);
      knng_graph* g = NULL;
      expect_ok(run(h, p, &queries, &g), "run");
      const double peak = stat_of(g, "bytes_host_peak");
      if (peak > (double)plan.host_bytes || peak < 0.9 * (double)plan.host_bytes)
        fail_msg("problem %d: estimated %lld bytes, measured %.0f", (int)i, (long long)plan.host_bytes, peak);
      assert_true(stat_of(g, "tiles") == (double)plan.tiles);
      knng_graph_destroy(g);
      knng_destroy(h);
    }
    rows_free(&rows);
    rows_free(&queries);
  }
}

/* docs/guide/memory-and-threads.md: without operands, and tiles that are small, lists and result are the peak. */
static void lists_and_result_take_what_the_guide_tells(void** state) {
  (void)state;
  static const struct {
    int64_t k, lists;
    const char* value_type;
    int64_t result;
  } rows_of[] = {{10, 184, "f32", 12 * 10 + 2}, {100, 2136, "f32", 12 * 100 + 2}, {100, 2136, "f64", 16 * 100 + 2}};
  enum { n = 3000 };
  test_rows rows = rows_normal(KNNG_F32, n, 4, 134);
  for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; ++i) {
    knng* h = HANDLE(NULL, "device", "cpu", "engine", "direct", "threads", "1", "tile_rows", "64", "tile_cols", "64",
                     "value_type", rows_of[i].value_type);
    const knng_matrix m = matrix_of(&rows);
    expect_ok(knng_borrow(h, &m, NULL, NULL), "knng_borrow");
    const int64_t planned_bytes = n * (rows_of[i].lists + rows_of[i].result);
    assert_int_equal(planned(h, 0, rows_of[i].k).host_bytes, planned_bytes);
    knng_graph* g = built(h, rows_of[i].k);
    assert_true(stat_of(g, "bytes_host_peak") == (double)planned_bytes);
    knng_graph_destroy(g);
    knng_destroy(h);
  }
  rows_free(&rows);
}

static void the_smallest_budget_works_and_one_byte_less_does_not(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; ++i) {
    const problem* p = &problems[i];
    const int64_t n = small_run() && p->n >= 2000 ? p->n / 2 : p->n;
    test_rows rows = rows_normal(KNNG_F32, n, p->d, 133), queries = rows_normal(KNNG_F32, p->nq + 1, p->d, 134);
    queries.n = p->nq;
    knng* h = HANDLE(&rows, "device", "cpu", "metric", p->metric, "engine", p->engine, "threads", p->threads, "self",
                     p->self);
    knng_graph *plain = NULL, *g = NULL;
    expect_ok(run(h, p, &queries, &plain), "without a budget");
    const int64_t smallest = planned(h, p->nq, p->k).smallest_host;
    set_bytes(h, "max_host_bytes", smallest - 1);
    assert_true(planned(h, p->nq, p->k).smallest_host == smallest);
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)smallest);
    EXPECT_ERROR(run(h, p, &queries, &g), KNNG_ERR_BUDGET, "max_host_bytes", text);
    const knng_error e = reported;
    assert_true(e.limit == smallest && e.given == smallest - 1);
    assert_string_equal(e.argument, "max_host_bytes");
    assert_null(g);
    for (int step = 0; step < 3; ++step) {
      if (step > 0 && !tried((int)i * 2 + step - 1, 2)) continue; /* the smallest always */
      const int64_t bytes = smallest + step * (planned(h, p->nq, p->k).host_bytes / 7);
      set_bytes(h, "max_host_bytes", bytes);
      expect_ok(run(h, p, &queries, &g), "within a budget");
      expect_same_graph(plain, g, "any budget");
      assert_true(stat_of(g, "bytes_host_peak") <= (double)bytes);
      knng_graph_destroy(g);
      g = NULL;
    }
    knng_graph_destroy(plain);
    knng_destroy(h);
    rows_free(&rows);
    rows_free(&queries);
  }
}

/* Queries of any type fit an estimate, and one type is what it is for. */
static void estimates_of_queries_hold_for_every_type(void** state) {
  (void)state;
  enum { n = 900, d = 128, nq = 300, k = 5 };
  static const int32_t types[] = {KNNG_U8, KNNG_I8, KNNG_F32, KNNG_F64};
  for (int r = 0; r < 4; ++r)
    for (int e = 0; e < 2; ++e) {
      if (!tried(r * 2 + e, 2)) continue;
      test_rows rows = rows_grid(types[r], n, d, 5, 136);
      knng* h =
          HANDLE(&rows, "device", "cpu", "metric", "sqeuclidean", "engine", e ? "tiled" : "fused", "threads", "2");
      const knng_plan plan = planned(h, nq, k);
      int least_fails = 0;
      for (int t = 0; t < 4; ++t) {
        test_rows queries = rows_grid(types[t], nq, d, 5, 137);
        const knng_matrix q = matrix_of(&queries);
        knng_graph* g = NULL;
        set_bytes(h, "max_host_bytes", 0);
        expect_ok(knng_query(h, &q, NULL, 0, k, NULL, &g, NULL), "no limit");
        assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.host_bytes);
        knng_graph_destroy(g);
        set_bytes(h, "max_host_bytes", plan.smallest_host);
        expect_ok(knng_query(h, &q, NULL, 0, k, NULL, &g, NULL), "the smallest that is reported");
        knng_graph_destroy(g);
        set_bytes(h, "max_host_bytes", plan.smallest_host - 1);
        least_fails += knng_query(h, &q, NULL, 0, k, NULL, &g, &reported) == KNNG_ERR_BUDGET;
        knng_graph_destroy(g);
        rows_free(&queries);
      }
      assert_true(least_fails > 0);
      knng_destroy(h);
      rows_free(&rows);
    }
}

static void copies_count(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 1000, 10, 135);
  const knng_matrix m = matrix_of(&rows);
  knng* h = HANDLE(NULL, "max_host_bytes", "39999");
  EXPECT_ERROR(knng_add(h, &m, NULL, &reported), KNNG_ERR_BUDGET, "39999", "40000");
  set_bytes(h, "max_host_bytes", 40000);
  expect_ok(knng_add(h, &m, NULL, NULL), "exactly enough");
  EXPECT_ERROR(knng_add(h, &m, NULL, &reported), KNNG_ERR_BUDGET, "40000", "80000");
  expect_ok(knng_borrow(h, &m, NULL, NULL), "borrowed rows are the caller's");
  int64_t n = 0;
  expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(n, 2000);
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(estimates_are_what_is_measured),
      cmocka_unit_test(estimates_of_queries_hold_for_every_type),
      cmocka_unit_test(lists_and_result_take_what_the_guide_tells),
      cmocka_unit_test(the_smallest_budget_works_and_one_byte_less_does_not),
      cmocka_unit_test(copies_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
