/* Keys of candidates from products in fp64 (engine=tiled on GPUs whose fp64 is fast): ids, bits, ties and the proof are
 * those of canonical keys, which few candidates get where keys differ by more than products may be off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* Enough coordinates of candidates (kCoordinatesOfProductKeys in src/backend/cuda/engines/engine.h). */
enum { points = 1500, dim = 512, neighbours = 300 };

static int has_fast_doubles(void) {
  static const char* const chips[] = {"A100", "H100", "H200", "GH200", "B200", "GB200"};
  const knng_device d = device_at(1);
  for (size_t i = 0; i < sizeof chips / sizeof *chips; ++i)
    if (strstr(d.name, chips[i])) return 1;
  return 0;
}

/* The CPU's answer, and how many canonical keys a row got. */
static double expect_answer_of_cpu(question q, const char* label) {
  knng_graph* expected = graph_of_cpu(&q);
  knng* h = handle_for(&q, "cuda:0", "tiled", "auto", "0");
  knng_graph* g = NULL;
  expect_ok(answer(h, &q, NULL, &g), label);
  expect_same(expected, g, label);
  assert_int_equal((int64_t)stat_of(g, "bound_violations"), 0);
  const double keys = stat_of(g, "keys") / (double)q.rows->n;
  printf("%s, %s, %s, self=%s, value_type=%s: %.1f keys a row\n", label, q.metric.metric, q.value, q.self, q.value_type,
         keys);
  knng_graph_destroy(g);
  knng_destroy(h);
  knng_graph_destroy(expected);
  return keys;
}

/* Of every metric of squared differences: sqeuclidean, euclidean, cosine, correlation, spearman, hellinger. */
enum { euclidean_metrics = 6 };

static void few_keys_are_evaluated(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F32, points, dim, 801);
  for (int m = 0; m < euclidean_metrics; ++m) {
    question q = question_of(&rows, &metric_cases[m], neighbours);
    const int similarities = m >= 2 && m <= 4;
    for (int turn = 0; turn < (small_run() ? 1 : 2 + similarities); ++turn) {
      q.self = turn == 1 ? "first" : "exclude";
      q.value = turn == 2 ? "similarity" : "distance";
      const double keys = expect_answer_of_cpu(q, "positive values");
      if (has_fast_doubles()) assert_true(keys < neighbours / 20.0);
    }
    if (small_run()) break;
  }
  question q = question_of(&rows, &metric_cases[0], neighbours);
  q.value_type = "f64";
  assert_true(expect_answer_of_cpu(q, "every bit of a key is wanted") >= neighbours);
  q = question_of(&rows, &metric_cases[6], neighbours);
  expect_answer_of_cpu(q, "inner products");
  rows_free(&rows);
}

/* Values that single precision holds: `value` of row, coordinate and a random number from 0 to 1. */
static test_rows made(double (*value)(int64_t i, int64_t t, double x), int32_t dtype) {
  double* values = malloc(sizeof *values * points * dim);
  assert_non_null(values);
  uint64_t state = 802;
  for (int64_t i = 0; i < points; ++i)
    for (int64_t t = 0; t < dim; ++t) values[i * dim + t] = value(i, t, uniform(&state));
  test_rows rows = rows_from(dtype, points, dim, values);
  free(values);
  return rows;
}
static double few_levels(int64_t i, int64_t t, double x) { return (void)i, t < 3 ? 300 * (double)(int)(3 * x) : 7; }
static double tenths(int64_t i, int64_t t, double x) { return (void)i, t < 2 ? (double)(int)(40 * x) / 10 : 0.1; }
static double far_away(int64_t i, int64_t t, double x) { return (void)i, (void)t, 1e6 + x; }
static double one_far_away(int64_t i, int64_t t, double x) { return (void)t, i == 7 ? 1e15 * x : x; }
static double heaps_of_two(int64_t i, int64_t t, double x) { return (double)(i / 2 * 37 % 101 + t % 5) + 1e-3 * x; }
static double some_zeros(int64_t i, int64_t t, double x) { return (void)t, i % 10 == 3 ? 0 : x; }
static double some_equal(int64_t i, int64_t t, double x) { return i < 20 ? (double)(t % 7) : x; }
static double small(int64_t i, int64_t t, double x) { return (void)i, (void)t, 1e-22 * x; }
/* An ulp apart in one coordinate, two and two: products may come out below 0. */
static double an_ulp_apart(int64_t i, int64_t t, double x) {
  const double value = 1e-20 * (double)((i / 2 * 37 + t * 101) % 997 + 1) + 0 * x;
  return t == 5 && i % 2 ? value * (1 + 0x1p-23) : value;
}
static double tiny(int64_t i, int64_t t, double x) { return (void)i, (void)t, 1e-170 * x; }
static double huge(int64_t i, int64_t t, double x) { return (void)i, (void)t, 1e17 * x; }
/* Pairs of rows that are equally far from the first third, which is 0 where one of a pair has what the other has. */
static double mirrored(int64_t i, int64_t t, double x) {
  const uint64_t at = (uint64_t)(i / 2 * dim + t) * 2654435761u % 1000003;
  if (t < dim - 2) return i < points / 3 ? x : (double)at / 1e6;
  return i >= points / 3 && i % 2 == (t == dim - 1) ? 1 : 0;
}

static void where_keys_are_close_they_are_evaluated(void** state) {
  (void)state;
  static const struct {
    const char* name;
    double (*value)(int64_t i, int64_t t, double x);
    int32_t dtype;
  } data[] = {{"few levels", few_levels, KNNG_F32},
              {"tenths", tenths, KNNG_F32},
              {"far away", far_away, KNNG_F32},
              {"one far away", one_far_away, KNNG_F32},
              {"heaps of two", heaps_of_two, KNNG_F32},
              {"some zeros", some_zeros, KNNG_F32},
              {"some equal", some_equal, KNNG_F32},
              {"small", small, KNNG_F32},
              {"an ulp apart", an_ulp_apart, KNNG_F32},
              {"tiny", tiny, KNNG_F64},
              {"huge", huge, KNNG_F32},
              {"mirrored", mirrored, KNNG_F32},
              {"half precision", some_zeros, KNNG_F16},
              {"float64", far_away, KNNG_F64}};
  static const int of[] = {0, 1, 2, 3}; /* sqeuclidean, euclidean, cosine, correlation */
  for (size_t i = 0; i < sizeof data / sizeof *data && !small_run(); ++i) {
    test_rows rows = made(data[i].value, data[i].dtype);
    for (size_t m = 0; m < sizeof of / sizeof *of; ++m) {
      question q = question_of(&rows, &metric_cases[of[m]], neighbours);
      q.value_type = "f32";
      expect_answer_of_cpu(q, data[i].name);
    }
    rows_free(&rows);
  }
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  if (fake_devices) {
    printf("skipped: simulated devices multiply nothing\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {DEVICE_TEST(few_keys_are_evaluated),
                                     DEVICE_TEST(where_keys_are_close_they_are_evaluated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
