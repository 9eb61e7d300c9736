/* Rows of whole numbers that 8 bits hold are bytes to engines, whatever they are stored as: the same graphs, in the
 * memory of bytes; and rows with one value beyond are not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"
#include "harness/folder.h"
#include "harness/row_files.h"

/* More points than are worked with as they are stored. */
enum { many = 2100 };

static const metric_case some_metrics[] = {
    {"sqeuclidean", "2", 1}, {"inner_product", "2", 1}, {"manhattan", "2", 1}, {"cosine", "2", 1}};
enum { tried_metrics = sizeof some_metrics / sizeof *some_metrics };

/* Whole numbers from lowest to highest, both of which occur. */
static test_rows whole(int32_t dtype, int64_t n, int64_t d, int lowest, int highest, uint64_t seed) {
  double* x = malloc((size_t)(n * d) * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n * d; ++i) x[i] = lowest + floor((highest - lowest + 1) * uniform(&seed));
  x[1] = lowest;
  x[n * d - 1] = highest;
  test_rows rows = rows_from(dtype, n, d, x);
  free(x);
  return rows;
}

/* The plan's memory on the first devices; value_type, so that it does not depend on the rows' type. */
static int64_t planned_bytes(const test_rows* rows, const metric_case* m, int64_t nq) {
  question q = question_of(rows, m, 6);
  q.value_type = "f32";
  knng* h = handle_for(&q, device_sets()[0], "auto", "auto", "0");
  const int64_t bytes = planned(h, nq, q.k).device_bytes;
  knng_destroy(h);
  return bytes;
}

static int turn = 0;

/* The CPU and one of the sets of devices, as all keys have it. */
static void expect_right(const question* q, const char* label) {
  knng_graph *expected = graph_of_cpu(q), *g = NULL;
  int sets = 0;
  while (device_sets()[sets]) ++sets;
  const char* const on[] = {"cpu", device_sets()[turn++ % sets]};
  for (int i = 0; i < 2; ++i) {
    char where[120];
    snprintf(where, sizeof where, "%s, %s, %s", label, q->metric.metric, on[i]);
    knng* h = handle_for(q, on[i], "auto", "auto", "0");
    expect_ok(answer(h, q, NULL, &g), where);
    expect_same(expected, g, where);
    knng_graph_destroy(g);
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
}

/* What a type holds of whole numbers: those of unsigned bytes, of signed ones, of both, of neither. */
static const struct {
  int lowest, highest;
  int32_t byte; /* 0: none holds all */
} ranges[] = {{0, 255, KNNG_U8}, {-128, 127, KNNG_I8}, {0, 127, KNNG_I8}, {-1, 128, 0}, {0, 256, 0}, {-129, 0, 0}};
enum { range_count = sizeof ranges / sizeof *ranges };

static int is_unsigned(int32_t dtype) { return dtype == KNNG_U16 || dtype == KNNG_U32 || dtype == KNNG_U64; }

static void of_dimensions(int64_t d) {
  for (int t = 0; t < ROW_DTYPES; ++t) {
    const int32_t dtype = row_dtypes[t];
    if (dtype_size(dtype) == 1) continue;
    for (int r = 0; r < range_count; ++r) {
      if (is_unsigned(dtype) && ranges[r].lowest < 0) continue;
      const metric_case* m = &some_metrics[(t + r) % tried_metrics];
      char label[80];
      snprintf(label, sizeof label, "%s, %d to %d", dtype_label(dtype), ranges[r].lowest, ranges[r].highest);
      test_rows rows = whole(dtype, many, d, ranges[r].lowest, ranges[r].highest, 600 + (uint64_t)t);
      test_rows bytes = whole(ranges[r].byte ? ranges[r].byte : KNNG_I8, many, d, ranges[r].lowest, 127, 600);
      if (ranges[r].byte) assert_int_equal(planned_bytes(&rows, m, 0), planned_bytes(&bytes, m, 0));
      if (!ranges[r].byte) assert_true(planned_bytes(&rows, m, 0) != planned_bytes(&bytes, m, 0));
      if (!small_run() || (t + r) % 4 == 0) {
        const question q = question_of(&rows, m, 6);
        expect_right(&q, label);
      }
      rows_free(&rows);
      rows_free(&bytes);
    }
  }
}

static void whole_numbers_of_every_type(void** state) {
  (void)state;
  of_dimensions(7);
  if (!fake_devices && !small_run()) of_dimensions(70); /* GPUs multiply so many as bytes */
}

/* Few points are not, and neither are those with a fraction, wherever it is. */
static void what_stays_as_it_is_stored(void** state) {
  (void)state;
  test_rows few = whole(KNNG_F64, 300, 7, 0, 255, 611), few_bytes = whole(KNNG_U8, 300, 7, 0, 255, 611);
  assert_true(planned_bytes(&few, &some_metrics[0], 0) != planned_bytes(&few_bytes, &some_metrics[0], 0));
  rows_free(&few);
  rows_free(&few_bytes);
  test_rows bytes = whole(KNNG_U8, many, 7, 0, 255, 612);
  static const int64_t places[] = {0, 256, (int64_t)many * 7 / 2, (int64_t)many * 7 - 1};
  for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
    test_rows rows = whole(KNNG_F32, many, 7, 0, 255, 612);
    ((float*)rows.data)[places[p]] += 0.5F;
    rows.x[places[p]] += 0.5;
    assert_true(planned_bytes(&rows, &some_metrics[0], 0) != planned_bytes(&bytes, &some_metrics[0], 0));
    const question q = question_of(&rows, &some_metrics[p % tried_metrics], 6);
    if (!small_run() || p % 2) expect_right(&q, "a fraction");
    rows_free(&rows);
  }
  rows_free(&bytes);
}

/* -0 is 0, and rows that are equal are found. */
static void equal_rows_and_negative_zeros(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, many, 5, 3, 613);
  for (int64_t i = 0; i < rows.n * rows.d; i += 3)
    if (rows.x[i] == 0) ((float*)rows.data)[i] = -0.0F;
  for (int m = 0; m < tried_metrics; ++m) {
    if (small_run() && m % 2) continue;
    question q = question_of(&rows, &some_metrics[m], 6);
    if (strcmp(q.metric.metric, "cosine") == 0) continue; /* has rows without direction, which is tested elsewhere */
    expect_right(&q, "grid");
  }
  rows_free(&rows);
}

/* Both sides are bytes of one type, or both are as they are stored; a plan has room for either. */
static void queries(void** state) {
  (void)state;
  static const struct {
    int32_t dtype, lowest, highest;
  } sides[] = {{KNNG_F32, 0, 255}, {KNNG_F64, -128, 127}, {KNNG_U8, 0, 255},    {KNNG_I8, -128, 127},
               {KNNG_BOOL, 0, 1},  {KNNG_F32, 0, 100},    {KNNG_I32, -200, 90}, {KNNG_I64, 0, 100}};
  enum { count = sizeof sides / sizeof *sides };
  for (int a = 0; a < count; ++a) {
    test_rows rows = whole(sides[a].dtype, many, 7, sides[a].lowest, sides[a].highest, 614);
    for (int b = 0; b < count; ++b) {
      if (!tried(a * count + b, 3)) continue;
      test_rows asked = whole(sides[b].dtype, 60, 7, sides[b].lowest, sides[b].highest, 615);
      question q = question_of(&rows, &some_metrics[(a + b) % 3], 6);
      q.queries = &asked;
      char label[80];
      snprintf(label, sizeof label, "%s up to %d and queries of %s up to %d", dtype_label(rows.dtype), sides[a].highest,
               dtype_label(asked.dtype), sides[b].highest);
      expect_right(&q, label);
      knng* h = handle_for(&q, "cpu", "auto", "auto", "0");
      const knng_plan plan = planned(h, asked.n, q.k);
      set_bytes(h, "max_host_bytes", plan.host_bytes);
      knng_graph* g = NULL;
      expect_ok(answer(h, &q, NULL, &g), label);
      assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.host_bytes);
      knng_graph_destroy(g);
      knng_destroy(h);
      rows_free(&asked);
    }
    rows_free(&rows);
  }
}

/* Rows that stay in their file come from there as bytes. */
static void rows_in_files(void** state) {
  (void)state;
  test_rows rows = whole(KNNG_F64, many, 40, 0, 255, 616);
  write_rows("whole.npy", &rows);
  const question q = question_of(&rows, &some_metrics[0], 6);
  knng_graph *expected = graph_of_cpu(&q), *g = NULL;
  for (const char* const* set = device_sets(); *set; ++set) {
    if (small_run() && set != device_sets()) continue;
    knng* h = HANDLE(NULL, "device", *set, "threads", "2");
    set_metric(h, &q.metric);
    set_bytes(h, "max_host_bytes", rows.n * rows.d * dtype_size(rows.dtype));
    expect_ok(knng_add_file(h, "whole.npy", NULL, NULL), "whole.npy");
    set_bytes(h, "max_host_bytes", 0);
    expect_ok(knng_build(h, q.k, NULL, &g, NULL), *set);
    expect_same(expected, g, *set);
    knng_graph_destroy(g);
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
  rows_free(&rows);
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(whole_numbers_of_every_type),
      DEVICE_TEST(what_stays_as_it_is_stored),
      DEVICE_TEST(equal_rows_and_negative_zeros),
      DEVICE_TEST(queries),
      DEVICE_TEST(rows_in_files),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
