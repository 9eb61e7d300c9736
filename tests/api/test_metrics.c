/* Every metric against the oracle on real-valued data of every element type, with values as distances and similarities,
 * in fp32 and fp64, with the row itself left out or first. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static const char* const threads[] = {"1", "3", NULL};
static const tile_size tiles[] = {{"0", "0"}, {"8", "5"}};

/* In a small run half of them, others each time. type: place of the rows' type in row_dtypes. */
static void check_all_metrics(test_rows* rows, int64_t k, int type) {
  static int turn;
  for (int m = 0; m < metric_count(); ++m) {
    if (!tried(turn++, 2)) continue;
    const metric_case* metric = &metric_cases[m];
    if (!metric_takes(metric, rows)) {
      check_build(rows, metric, k, NULL, NULL, threads, tiles, 1, ALL_TILES);
      continue;
    }
    const oracle_task task = task_of(metric);
    oracle_graph expected = oracle_build(&task, rows->n, rows->d, rows->x, k);
    check_build(rows, metric, k, &expected, NULL, threads, tiles, 2, type);
    oracle_graph_free(&expected);
  }
  rows_free(rows);
}

static void signed_values(void** state) {
  (void)state;
  for (int t = 0; t < ROW_DTYPES; t += small_run() ? 2 : 1) {
    test_rows rows = rows_normal(row_dtypes[t], 130, 37, 11);
    check_all_metrics(&rows, 7, t);
  }
}

static void positive_values(void** state) {
  (void)state;
  for (int t = small_run(); t < ROW_DTYPES; t += small_run() ? 2 : 1) {
    test_rows rows = rows_positive(row_dtypes[t], 130, 67, 12);
    check_all_metrics(&rows, 7, t);
  }
}

static void integers_full_of_ties(void** state) {
  (void)state;
  for (int t = 0; t < ROW_DTYPES; t += small_run() ? 2 : 1) {
    test_rows rows = rows_grid(row_dtypes[t], small_run() ? 150 : 300, 3, 4, 13);
    check_all_metrics(&rows, 9, t);
    /* Many rows of three types that take ways of their own. */
    const int large = row_dtypes[t] == KNNG_F32 || row_dtypes[t] == KNNG_U8 || row_dtypes[t] == KNNG_I64;
    rows = rows_shuttle(row_dtypes[t], small_run() ? 120 : large ? 700 : 200, 14);
    check_all_metrics(&rows, 12, t);
  }
}

static void values_as_asked(void** state) {
  (void)state;
  static const int32_t dtypes[] = {KNNG_F32, KNNG_F64};
  static const char* const types[] = {"auto", "f32", "f64"};
  for (int t = 0; t < 2; ++t) {
    test_rows rows = rows_positive(dtypes[t], 60, 19, 15);
    for (int m = 0; m < metric_count(); ++m)
      for (int variant = 0; variant < 12; ++variant) {
        const metric_case* metric = &metric_cases[m];
        oracle_task task = task_of(metric);
        task.self_first = variant & 1;
        task.similarity = variant >> 1 & 1;
        const char* type = types[variant >> 2];
        knng* h = HANDLE(&rows, "device", "cpu", "self", task.self_first ? "first" : "exclude", "value",
                         task.similarity ? "similarity" : "distance", "value_type", type, "engine",
                         (variant ^ variant >> 1 ^ variant >> 2) & 1 ? fastest_engine(metric) : "direct");
        set_metric(h, metric);
        char label[100];
        snprintf(label, sizeof label, "%s p=%s %s variant %d", metric->metric, metric->p, dtype_label(dtypes[t]),
                 variant);
        knng_graph* g = NULL;
        const knng_status status = knng_build(h, 5, NULL, &g, NULL);
        if (task.similarity && !has_similarity(metric)) {
          EXPECT_ERROR(status, KNNG_ERR_OPTION, "similarity", metric->metric);
          assert_null(g);
        } else {
          expect_ok(status, label);
          oracle_graph expected = oracle_build(&task, rows.n, rows.d, rows.x, 5);
          expect_graph(g, &expected, label);
          knng_matrix values = knng_packed(KNNG_F32, 0, 0, NULL);
          expect_ok(knng_graph_view(g, NULL, &values, NULL), label);
          const int wide = strcmp(type, "f64") == 0 || (strcmp(type, "auto") == 0 && dtypes[t] == KNNG_F64);
          assert_int_equal(values.dtype, wide ? KNNG_F64 : KNNG_F32);
          char text[32];
          expect_ok(knng_graph_text(g, "self", text, sizeof text, NULL, NULL), "self");
          assert_string_equal(text, task.self_first ? "first" : "exclude");
          expect_ok(knng_graph_text(g, "value", text, sizeof text, NULL, NULL), "value");
          assert_string_equal(text, task.similarity ? "similarity" : "distance");
          oracle_graph_free(&expected);
          knng_graph_destroy(g);
        }
        knng_destroy(h);
      }
    rows_free(&rows);
  }
}

/* Distances that a reader can check by hand, so that oracle and library are not wrong together. */
static void known_values(void** state) {
  (void)state;
  static const double pair[] = {1, 2, 0, 3, /**/ 2, 0, 0, 1};
  struct {
    const char *metric, *p;
    double value;
  } const cases[] = {{"sqeuclidean", "2", 9},
                     {"euclidean", "2", 3},
                     {"manhattan", "2", 5},
                     {"chebyshev", "2", 2},
                     {"minkowski", "3", cbrt(17)},
                     {"canberra", "2", 1.0 / 3 + 1 + 0.5},
                     {"braycurtis", "2", 5.0 / 9},
                     {"inner_product", "2", -5},
                     {"cosine", "2", 1 - 5 / sqrt(14.0 * 5)},
                     {"correlation", "2", 1 - 0.5 / sqrt(5 * 2.75)},
                     {"spearman", "2", 1 - 1 / sqrt(5 * 4.5)},
                     {"hellinger", "2", 0},
                     {"jensenshannon", "2", 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    test_rows rows = rows_from(KNNG_F64, 2, 4, pair);
    knng* h =
        HANDLE(&rows, "metric", cases[c].metric, "p", strcmp(cases[c].metric, "minkowski") == 0 ? cases[c].p : "auto");
    knng_graph* g = built(h, 1);
    knng_matrix values = knng_packed(KNNG_F64, 0, 0, NULL);
    expect_ok(knng_graph_view(g, NULL, &values, NULL), "view");
    double expected = cases[c].value;
    if (strcmp(cases[c].metric, "hellinger") == 0) {
      double s = 0;
      for (int t = 0; t < 4; ++t) s += pow(sqrt(pair[t]) - sqrt(pair[4 + t]), 2);
      expected = sqrt(s / 2);
    } else if (strcmp(cases[c].metric, "jensenshannon") == 0) {
      double s = 0;
      for (int t = 0; t < 4; ++t) {
        const double u = pair[t] / 6, v = pair[4 + t] / 3, m = (u + v) / 2;
        s += (u > 0 ? u * log(u / m) : 0) + (v > 0 ? v * log(v / m) : 0);
      }
      expected = sqrt(s / 2);
    }
    for (int i = 0; i < 2; ++i)
      if (!(fabs(((double*)values.data)[i] - expected) <= 1e-14 * fabs(expected)))
        fail_msg("%s: %.17g instead of %.17g", cases[c].metric, ((double*)values.data)[i], expected);
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
}

static void values_too_large_for_fp32_are_refused(void** state) {
  (void)state;
  static const double x[] = {0, 1e30, 3e30, 7e30};
  test_rows rows = rows_from(KNNG_F32, 4, 1, x);
  knng* h = HANDLE(&rows, "metric", "sqeuclidean");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 1, NULL, &g, &reported), KNNG_ERR_RANGE, "value_type=f64");
  assert_null(g);
  expect_ok(knng_set(h, "value_type", "f64", NULL), "value_type");
  const oracle_task task = {"sqeuclidean", 2, 0, 0};
  oracle_graph expected = oracle_build(&task, 4, 1, rows.x, 1);
  g = built(h, 1);
  expect_graph(g, &expected, "value_type=f64");
  knng_graph_destroy(g);
  oracle_graph_free(&expected);
  knng_destroy(h);
  rows_free(&rows);
}

/* What the tests go through by lists of their own, as the oracle knows no list of the library's: whatever the library
 * adds has to be added there, or this fails. */
static int is_compared(const char* metric) {
  for (int m = 0; m < METRIC_CASES; ++m)
    if (strcmp(metric_cases[m].metric, metric) == 0) return 1;
  return 0;
}
static int is_tried(const char* setting, const char* value) {
  if (strcmp(value, "auto") == 0 || strcmp(value, "tree") == 0) return 1; /* test_tree.c has engine=tree */
  for (const engine_case* e = engines_for(&metric_cases[0]); e->engine; ++e)
    if (strcmp(strcmp(setting, "engine") == 0 ? e->engine : e->selector, value) == 0) return 1;
  return 0;
}

static void nothing_of_the_library_is_left_out(void** state) {
  (void)state;
  const char *name, *aliases;
  int32_t count = 0;
  for (; knng_metric_name(count, &name, &aliases, NULL) == KNNG_OK; ++count)
    if (!is_compared(name)) fail_msg("metric_cases (tests/harness/compare.c) has no metric=%s", name);
  assert_true(count > 0);
  static const char* const settings[] = {"engine", "selector"};
  word_list list;
  for (int i = 0; i < 2; ++i)
    for (const char* const* word = words_of(settings[i], &list); *word; ++word)
      if (!is_tried(settings[i], *word))
        fail_msg("engines_for() (tests/harness/compare.c) has no %s=%s", settings[i], *word);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_of_the_library_is_left_out),
      cmocka_unit_test(known_values),
      cmocka_unit_test(signed_values),
      cmocka_unit_test(positive_values),
      cmocka_unit_test(integers_full_of_ties),
      cmocka_unit_test(values_as_asked),
      cmocka_unit_test(values_too_large_for_fp32_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
