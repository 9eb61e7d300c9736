/* Devices answer as the CPU does: whatever set of them works, with whatever metric, engine, selector, type of rows and
 * tiles: ids, bits and ties. */
#include "harness/cmocka.h"
#include "harness/devices.h"

static const char *const automatic[] = {"auto", NULL}, *const zero[] = {"0", NULL};

static void every_metric_engine_and_selector(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "50", NULL};
  test_rows rows = rows_positive(KNNG_F32, 170, 19, 301);
  for (int m = 0; m < metric_count(); ++m) {
    const question q = question_of(&rows, &metric_cases[m], 7);
    check_devices(&q, device_selectors, tiles, "metrics");
  }
  rows_free(&rows);
}

static void every_row_type(void** state) {
  (void)state;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows rows = rows_positive(row_dtypes[t], 90, 33, 302);
    for (int m = 0; m < device_metric_count(); ++m) {
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
    const int64_t ks[] = {1, n / 2, n - 1}; /* n = k + 1 and k = n - 1 are one */
    for (int m = 0; m < 2; ++m)
      for (int j = 0; j < 3; ++j) {
        if (ks[j] < 1 || (j > 0 && ks[j] == ks[j - 1])) continue;
        const question q = question_of(&rows, &metrics[m], ks[j]);
        check_devices(&q, automatic, n > 65 ? tiles + 2 : tiles, "sizes");
      }
    rows_free(&rows);
  }
}

static void what_is_reported(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 120, 6, 4, 304);
  for (int m = 0; m < device_metric_count(); ++m)
    for (int s = 0; s < 8; ++s) {
      question q = question_of(&rows, &metric_cases[m], 9);
      if (s & 1) q.self = "first";
      if (s & 2) q.value_type = "f64";
      if (s & 4) q.value = "similarity";
      if ((s & 4) && !has_similarity(&q.metric)) continue;
      check_devices(&q, automatic, zero, "reported");
    }
  rows_free(&rows);
}

/* float64 rows are no values of single precision, and jensenshannon has no filter: asked for, it is refused. */
static void filters_that_there_are_not(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F64, 40, 9, 321), single = rows_positive(KNNG_F32, 40, 9, 321);
  for (int m = 0; m < METRIC_CASES; ++m)
    for (int s = 0; s < 2; ++s) {
      const question q = question_of(s ? &single : &rows, &metric_cases[m], 3);
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

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(every_metric_engine_and_selector), DEVICE_TEST(every_row_type),
      DEVICE_TEST(sizes_around_tile_edges),          DEVICE_TEST(what_is_reported),
      DEVICE_TEST(filters_that_there_are_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
