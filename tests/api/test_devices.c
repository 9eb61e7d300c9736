/* Devices answer as the CPU does: whatever set of them works, with whatever metric, engine, selector, type of rows and
 * tiles: ids, bits and ties. */
#include <stdio.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"
#include "harness/folder.h"

static const char *const automatic[] = {"auto", NULL}, *const zero[] = {"0", NULL};

static void every_metric_engine_and_selector(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "50", NULL};
  test_rows rows = rows_positive(KNNG_F32, 170, 19, 301);
  for (int m = 0; m < device_metric_count(); ++m) { /* as_the_oracle() has all exponents everywhere */
    const question q = question_of(&rows, &metric_cases[m], 7);
    check_devices(&q, NULL, tiles, "metrics");
  }
  rows_free(&rows);
}

static void every_row_type(void** state) {
  (void)state;
  int turn = 0;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows rows = rows_positive(row_dtypes[t], 90, 33, 302);
    for (int m = 0; m < device_metric_count(); ++m) {
      if (!tried(turn++, 2)) continue;
      const question q = question_of(&rows, &metric_cases[m], 5);
      check_devices(&q, automatic, zero, "row types");
    }
    rows_free(&rows);
  }
}

static void sizes_around_tile_edges(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "1", "3", "64", "128", NULL};
  static const int64_t sizes[] = {2, 3, 7, 63, 64, 65, 127, 128, 129, 193};
  static const metric_case metrics[] = {{"sqeuclidean", "2", 1}, {"manhattan", "2", 0}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const int64_t n = sizes[i];
    if (small_run() && n > 65) break;
    test_rows rows = rows_normal(KNNG_F32, n, 5, 303);
    static int turn;
    const int64_t ks[] = {1, n / 2, n - 1}; /* n = k + 1 and k = n - 1 are one */
    for (int m = 0; m < 2; ++m)
      for (int j = 0; j < 3; ++j) {
        if (ks[j] < 1 || (j > 0 && ks[j] == ks[j - 1]) || !tried(turn++, 2)) continue;
        const question q = question_of(&rows, &metrics[m], ks[j]);
        check_devices(&q, automatic, n > 65 ? tiles + 2 : tiles, "sizes");
      }
    rows_free(&rows);
  }
}

static void what_is_reported(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 120, 6, 4, 304);
  int turn = 0;
  for (int m = 0; m < device_metric_count(); ++m)
    for (int s = 0; s < 8; ++s) {
      question q = question_of(&rows, &metric_cases[m], 9);
      if (s & 1) q.self = "first";
      if (s & 2) q.value_type = "f64";
      if (s & 4) q.value = "similarity";
      if (((s & 4) && !has_similarity(&q.metric)) || !tried(turn++, 2)) continue;
      check_devices(&q, automatic, zero, "reported");
    }
  rows_free(&rows);
}

/* Rows with signs where the metric takes them. */
static test_rows rows_for(const metric_case* m, int32_t dtype, int64_t n, int64_t d) {
  test_rows rows = rows_normal(dtype, n, d, 326);
  if (metric_takes(m, &rows)) return rows;
  rows_free(&rows);
  rows = rows_positive(dtype, n, d, 326);
  assert_true(metric_takes(m, &rows));
  return rows;
}

/* Every engine that a device has for the question, with every selector, gives the graph of a plain double loop that
 * knows nothing of the library's engines. Tiles and sets of devices take turns; in a small run selectors do. */
static void check_with_oracle(const question* q) {
  static const char* const tiles[] = {"0", "29", "64"};
  static int turn;
  word_list engines, selectors;
  const oracle_task task = task_of(&q->metric);
  oracle_graph expected = oracle_build(&task, q->rows->n, q->rows->d, q->rows->x, q->k);
  int sets = 0;
  while (device_sets()[sets]) ++sets;
  for (const char* const* engine = words_of("engine", &engines); *engine; ++engine) {
    if (strcmp(*engine, "auto") == 0 || !device_does(q, *engine)) continue;
    for (const char* const* selector = words_of("selector", &selectors); *selector; ++selector, ++turn) {
      if (strcmp(*engine, "tree") == 0 ? strcmp(*selector, "auto") != 0 : !tried(turn, 4)) continue;
      const char *const set = device_sets()[(turn + turn / 4) % sets], *const tile = tiles[(turn + turn / 8) % 3];
      char label[200], text[24];
      snprintf(label, sizeof label, "%s p=%s %s %lld x %lld k=%lld device=%s engine=%s selector=%s tile_rows=%s",
               q->metric.metric, q->metric.p, dtype_label(q->rows->dtype), (long long)q->rows->n, (long long)q->rows->d,
               (long long)q->k, set, *engine, *selector, tile);
      knng* h = handle_for(q, set, *engine, *selector, tile);
      knng_graph* g = NULL;
      expect_ok(answer(h, q, NULL, &g), label);
      expect_graph(g, &expected, label);
      expect_ok(knng_graph_text(g, "engine", text, sizeof text, NULL, NULL), label);
      assert_string_equal(text, *engine);
      expect_ok(knng_graph_text(g, "selector", text, sizeof text, NULL, NULL), label);
      if (strcmp(*selector, "auto") != 0) assert_string_equal(text, *selector);
      knng_graph_destroy(g);
      knng_destroy(h);
    }
  }
  oracle_graph_free(&expected);
}

static void as_the_oracle(void** state) {
  (void)state;
  int turn = 0;
  for (int t = 0; t < ROW_DTYPES; ++t)
    for (int m = 0; m < metric_count(); ++m) {
      if (!tried(turn++, 2)) continue;
      test_rows rows = rows_for(&metric_cases[m], row_dtypes[t], 67, 19);
      const question q = question_of(&rows, &metric_cases[m], 5);
      check_with_oracle(&q);
      rows_free(&rows);
    }
  static const metric_case metrics[] = {
      {"euclidean", "2", 1}, {"inner_product", "2", 1}, {"chebyshev", "2", 0}, {"spearman", "2", 1}};
  static const int32_t dtypes[] = {KNNG_F32, KNNG_I8, KNNG_F64, KNNG_BF16};
  for (int m = 0; m < 4; ++m)
    for (int t = 0; t < 4; ++t) { /* few dimensions, in which rows are answered; and one more than two tiles' rows */
      test_rows low = rows_for(&metrics[m], dtypes[t], 131, 3), rest = rows_for(&metrics[m], dtypes[t], 257, 37);
      question q = question_of(&low, &metrics[m], 13);
      check_with_oracle(&q);
      q = question_of(&rest, &metrics[m], 1);
      if (t == m) check_with_oracle(&q);
      rows_free(&low);
      rows_free(&rest);
    }
  /* On GPUs, which are quick at it, all of it at another odd size: in turns with a last tile of three rows, or one,
   * of 64. */
  if (fake_devices || small_run()) return;
  for (int t = 0; t < ROW_DTYPES; ++t)
    for (int m = 0; m < metric_count(); ++m) {
      test_rows rows = rows_for(&metric_cases[m], row_dtypes[t], m % 2 ? 131 : 129, 33);
      const question q = question_of(&rows, &metric_cases[m], 7);
      check_with_oracle(&q);
      rows_free(&rows);
    }
}

/* float64 rows are no values of single precision, and jensenshannon has no filter: asked for, it is refused. All others
 * have one. */
static void filters_that_there_are_not(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F64, 40, 9, 321), single = rows_positive(KNNG_F32, 40, 9, 321);
  for (int m = 0; m < METRIC_CASES; ++m)
    for (int s = 0; s < 2; ++s) {
      const question q = question_of(s ? &single : &rows, &metric_cases[m], 3);
      const int is_sum = !is_product(&q.metric) && strcmp(q.metric.metric, "jensenshannon") != 0;
      assert_int_equal(has_device_filter(&q), is_product(&q.metric) || (s && is_sum));
      if (has_device_filter(&q)) continue;
      knng* h = handle_for(&q, device_sets()[0], "tiled", "auto", "0");
      knng_graph* g = NULL;
      EXPECT_ERROR(answer(h, &q, NULL, &g), KNNG_ERR_UNSUPPORTED, "engine", "tiled");
      assert_null(g);
      knng_destroy(h);
    }
  rows_free(&rows);
  rows_free(&single);
}

/* What engines count of few rows is what a file may say. */
static void graphs_of_few_rows_come_back(void** state) {
  (void)state;
  word_list engines;
  static const metric_case metrics[] = {{"sqeuclidean", "2", 1}, {"cosine", "2", 1}, {"manhattan", "2", 0}};
  int turn = 0;
  for (int64_t n = 1; n <= 34; n += n < 3 ? 1 : 15)
    for (int64_t nq = 0; nq < 3; ++nq) {
      if (n == 1 && nq == 0) continue;
      test_rows rows = rows_grid(KNNG_F32, n, 3, n % 2 ? 2 : 5, 322), queries = rows_grid(KNNG_F32, 2, 3, 5, 323);
      queries.n = nq;
      for (int m = 0; m < 3; ++m) {
        question q = question_of(&rows, &metrics[m], nq ? n : n - 1);
        if (nq) q.queries = &queries;
        for (const char* const* set = device_sets(); *set; ++set)
          for (const char* const* engine = words_of("engine", &engines); *engine; ++engine) {
            if (!tried(turn++, 5)) continue;
            knng* h = handle_for(&q, *set, *engine, "auto", "0");
            knng_graph* g = NULL;
            char label[100];
            snprintf(label, sizeof label, "%s: %lld queries of %lld rows, %s, engine=%s", *set, (long long)nq,
                     (long long)n, metrics[m].metric, *engine);
            const knng_status built = answer(h, &q, NULL, &g);
            if (built != KNNG_ERR_UNSUPPORTED) {
              expect_ok(built, label);
              expect_comes_back(g, label);
            }
            knng_graph_destroy(g);
            knng_destroy(h);
          }
      }
      rows_free(&rows);
      rows_free(&queries);
    }
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(every_metric_engine_and_selector),
      DEVICE_TEST(every_row_type),
      DEVICE_TEST(sizes_around_tile_edges),
      DEVICE_TEST(what_is_reported),
      DEVICE_TEST(as_the_oracle),
      DEVICE_TEST(filters_that_there_are_not),
      DEVICE_TEST(graphs_of_few_rows_come_back),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
