/* Queries: other rows, other element types, ids to leave out; against the oracle and against builds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static knng_graph* queried(const knng* h, const test_rows* q, const int64_t* leave_out, int64_t k) {
  const knng_matrix m = matrix_of(q);
  knng_graph* g = NULL;
  const knng_matrix left_out = knng_packed(KNNG_I64, q->n, 1, leave_out);
  expect_ok(knng_query(h, &m, leave_out ? &left_out : NULL, 0, k, NULL, &g, NULL), "knng_query");
  assert_non_null(g);
  return g;
}

static void every_metric_and_query_type(void** state) {
  (void)state;
  int turn = 0;
  for (int base = 0; base < 2; ++base)
    for (int t = 0; t < ROW_DTYPES; ++t)
      for (int m = 0; m < metric_count(); ++m) {
        test_rows rows = rows_positive(base ? KNNG_U8 : KNNG_F32, 83, 21, 31);
        test_rows queries = rows_positive(row_dtypes[t], 17, 21, 32);
        const oracle_task task = task_of(&metric_cases[m]);
        oracle_graph expected = oracle_query(&task, rows.n, rows.d, rows.x, queries.n, queries.x, NULL, 9);
        static const char* const settings[3][3] = {{"1", "0", "0"}, {"3", "8", "5"}, {"2", "1", "40"}};
        for (const engine_case* e = engines_for(&metric_cases[m]); e->engine; ++e)
          for (int s = 0; s < 3; ++s) {
            if (!tried(turn++, 3)) continue;
            knng* h = HANDLE(&rows, "device", "cpu", "threads", settings[s][0], "tile_rows", settings[s][1],
                             "tile_cols", settings[s][2], "value_type", "f64");
            set_metric(h, &metric_cases[m]);
            set_engine(h, e);
            char label[140];
            snprintf(label, sizeof label, "query %s p=%s %s engine=%s selector=%s settings %d", metric_cases[m].metric,
                     metric_cases[m].p, dtype_label(row_dtypes[t]), e->engine, e->selector, s);
            knng_graph* g = queried(h, &queries, NULL, 9);
            expect_graph(g, &expected, label);
            assert_true(stat_of(g, "rows") == 17 && stat_of(g, "columns") == 83);
            assert_true(stat_of(g, "proved") == 17 && isnan(stat_of(g, "duplicates")));
            knng_graph_destroy(g);
            knng_destroy(h);
          }
        oracle_graph_free(&expected);
        rows_free(&rows);
        rows_free(&queries);
      }
}

static void own_rows_left_out_are_the_graph(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 200, 4, 3, 33);
  int64_t own[200];
  for (int64_t i = 0; i < 200; ++i) own[i] = i;
  for (int m = 0; m < metric_count(); ++m) {
    if (!metric_takes(&metric_cases[m], &rows)) continue;
    knng* h = HANDLE(&rows, "device", "cpu");
    set_metric(h, &metric_cases[m]);
    knng_graph *graph = built(h, 12), *query = queried(h, &rows, own, 12);
    expect_same_graph(graph, query, metric_cases[m].metric);
    knng_graph_destroy(graph);
    knng_graph_destroy(query);
    knng_destroy(h);
  }
  rows_free(&rows);
}

static void some_left_out_some_not(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_I8, 150, 3, 3, 34), queries = rows_grid(KNNG_I8, 40, 3, 3, 35);
  int64_t leave_out[40];
  for (int64_t i = 0; i < 40; ++i) leave_out[i] = i % 3 ? (i * 37) % 150 : -1;
  static const metric_case metrics[] = {{"euclidean", "2", 1}, {"cosine", "2", 1}, {"canberra", "2", 0}};
  for (int m = 0; m < 3; ++m) {
    const oracle_task task = task_of(&metrics[m]);
    static const int64_t ks[] = {1, 20, 149};
    for (int i = 0; i < 3; ++i)
      for (const engine_case* e = engines_for(&metrics[m]); e->engine; ++e) {
        oracle_graph expected = oracle_query(&task, 150, 3, rows.x, 40, queries.x, leave_out, ks[i]);
        knng* h = HANDLE(&rows, "device", "cpu", "metric", metrics[m].metric, "tile_cols", i ? "0" : "9");
        set_engine(h, e);
        knng_graph* g = queried(h, &queries, leave_out, ks[i]);
        expect_graph(g, &expected, metrics[m].metric);
        knng_graph_destroy(g);
        knng_destroy(h);
        oracle_graph_free(&expected);
      }
  }
  rows_free(&rows);
  rows_free(&queries);
}

static void queries_in_any_layout(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 50, 6, 36), queries = rows_normal(KNNG_F64, 7, 6, 37);
  double columns[6 * 7];
  for (int i = 0; i < 7; ++i)
    for (int t = 0; t < 6; ++t) columns[t * 7 + i] = queries.x[i * 6 + t];
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_matrix m = knng_packed(KNNG_F64, 7, 6, columns);
  m.row_stride = 1;
  m.col_stride = 7;
  knng_graph *packed = queried(h, &queries, NULL, 5), *g = NULL;
  expect_ok(knng_query(h, &m, NULL, 0, 5, NULL, &g, NULL), "column-major queries");
  expect_same_graph(packed, g, "packed and column-major");
  knng_graph_destroy(packed);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
  rows_free(&queries);
}

static void all_of_one_row(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 1, 3, 38), queries = rows_normal(KNNG_F32, 2, 3, 39);
  const oracle_task task = {"euclidean", 2, 0, 0};
  oracle_graph expected = oracle_query(&task, 1, 3, rows.x, 2, queries.x, NULL, 1);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = queried(h, &queries, NULL, 1);
  expect_graph(g, &expected, "a data set of one row");
  knng_graph_destroy(g);
  knng_destroy(h);
  oracle_graph_free(&expected);
  rows_free(&rows);
  rows_free(&queries);
}

static void what_cannot_be_asked(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 10, 3, 40), queries = rows_normal(KNNG_F32, 4, 3, 41);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_matrix m = matrix_of(&queries);
  knng_graph* g = NULL;
  int64_t leave_out[4] = {-1, 3, -1, 10};
  knng_matrix left_out = knng_packed(KNNG_I64, 4, 1, leave_out);
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 11, NULL, &g, &reported), KNNG_ERR_RANGE, "11", "10");
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 0, NULL, &g, &reported), KNNG_ERR_RANGE, "0");
  EXPECT_ERROR(knng_query(h, &m, &left_out, 0, 5, NULL, &g, &reported), KNNG_ERR_RANGE, "leave_out", "10");
  const knng_error e = reported;
  assert_int_equal(e.row, 3);
  leave_out[3] = -2;
  EXPECT_ERROR(knng_query(h, &m, &left_out, 0, 5, NULL, &g, &reported), KNNG_ERR_RANGE, "leave_out", "-2");
  EXPECT_ERROR(knng_query(h, &m, &left_out, 2, 5, NULL, &g, &reported), KNNG_ERR_RANGE, "base=2");
  EXPECT_ERROR(knng_query(h, &m, &left_out, 1, 5, NULL, &g, &reported), KNNG_ERR_RANGE, "leave_out", "-1", "0 to 10");
  left_out.rows = 3; /* a list that is short is not read past its end */
  EXPECT_ERROR(knng_query(h, &m, &left_out, 0, 5, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "leave_out", "3", "4");
  left_out.rows = 4;
  left_out.dtype = KNNG_F64;
  EXPECT_ERROR(knng_query(h, &m, &left_out, 0, 5, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "leave_out", "float64");
  left_out.dtype = KNNG_I64;
  leave_out[3] = -1;
  EXPECT_ERROR(knng_query(h, &m, &left_out, 0, 10, NULL, &g, &reported), KNNG_ERR_RANGE, "10", "11");
  m.cols = 2;
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 5, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "2", "3");
  m.cols = 3;
  ((float*)queries.data)[3 * 3 + 1] = -1;
  expect_ok(knng_set(h, "metric", "hellinger", NULL), "hellinger");
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 5, NULL, &g, &reported), KNNG_ERR_DATA, "hellinger");
  expect_ok(knng_set(h, "metric", "euclidean", NULL), "euclidean");
  ((uint32_t*)queries.data)[3 * 3 + 1] = 0x7fc00000;
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 5, NULL, &g, &reported), KNNG_ERR_DATA, "3", "1");
  EXPECT_ERROR(knng_query(h, NULL, NULL, 0, 5, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "q");
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 5, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "out");
  assert_null(g);
  ((uint32_t*)queries.data)[3 * 3 + 1] = 0;
  g = queried(h, &queries, NULL, 10);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
  rows_free(&queries);
}

/* Ids to leave out as other languages have them: from 1, 32 bits wide, a column of something. */
static void leave_out_in_any_shape(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 30, 3, 44), queries = rows_normal(KNNG_F32, 4, 3, 45);
  knng* h = HANDLE(&rows, "device", "cpu");
  const knng_matrix m = matrix_of(&queries);
  const int64_t packed[4] = {-1, 3, 29, 0};
  knng_graph* expected = queried(h, &queries, packed, 5);
  const int32_t from_one[4][2] = {{0, 7}, {4, 7}, {30, 7}, {1, 7}};
  knng_matrix left_out = knng_packed(KNNG_I32, 4, 1, from_one);
  left_out.row_stride = 2;
  left_out.col_stride = 1;
  knng_graph* g = NULL;
  expect_ok(knng_query(h, &m, &left_out, 1, 5, NULL, &g, NULL), "knng_query");
  expect_same_graph(expected, g, "leave_out from 1");
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  knng_destroy(h);
  rows_free(&rows);
  rows_free(&queries);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_metric_and_query_type),
      cmocka_unit_test(own_rows_left_out_are_the_graph),
      cmocka_unit_test(some_left_out_some_not),
      cmocka_unit_test(queries_in_any_layout),
      cmocka_unit_test(all_of_one_row),
      cmocka_unit_test(what_cannot_be_asked),
      cmocka_unit_test(leave_out_in_any_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
