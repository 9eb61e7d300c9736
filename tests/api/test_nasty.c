/* Data that breaks careless code: equal and constant rows, signed zeros, huge and tiny values, offsets, outliers. Each
 * set under every metric; a metric that cannot take it must say so. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static const char* const threads[] = {"1", "3", NULL};
static const tile_size tiles[] = {{"0", "0"}, {"12", "7"}};

/* Whether the keys could leave fp64, by the definition d (2 max)^2 and its like, far from the limit in all sets here.
 */
static int overflows(const metric_case* m, const test_rows* rows) {
  double largest = 0;
  for (int64_t i = 0; i < rows->n * rows->d; ++i) largest = fmax(largest, fabs(rows->x[i]));
  const double magnitude = log10(largest > 0 ? largest : 1) + 1;
  if (strcmp(m->metric, "sqeuclidean") == 0 || strcmp(m->metric, "euclidean") == 0 ||
      strcmp(m->metric, "inner_product") == 0)
    return 2 * magnitude > 308;
  if (strcmp(m->metric, "minkowski") == 0) return strtod(m->p, NULL) * magnitude > 308;
  return magnitude > 308;
}

/* In a small run half of the metrics, others each time; and one of the two tiles with each engine. */
static void check(test_rows* rows, int64_t k, const char* name) {
  static int metric_turn, turn;
  for (int m = 0; m < metric_count(); ++m) {
    if (!tried(metric_turn++, 2)) continue;
    const metric_case* metric = &metric_cases[m];
    oracle_task task = task_of(metric);
    if (!metric_takes(metric, rows) || overflows(metric, rows)) {
      check_build(rows, metric, k, NULL, NULL, threads, tiles, 1, ALL_TILES);
      continue;
    }
    oracle_graph expected = oracle_build(&task, rows->n, rows->d, rows->x, k);
    for (const engine_case* e = engines_for(metric); e->engine; ++e)
      for (int s = 0; s < 2; ++s) {
        if (!tried(turn++, 2)) continue;
        char label[160];
        snprintf(label, sizeof label, "%s: %s p=%s %s engine=%s selector=%s tile %s x %s", name, metric->metric,
                 metric->p, dtype_label(rows->dtype), e->engine, e->selector, tiles[s].rows, tiles[s].cols);
        /* fp64 values: what is asked here is whether keys are right, not whether fp32 can hold them. */
        knng* h = HANDLE(rows, "device", "cpu", "value_type", "f64", "threads", threads[s], "tile_rows", tiles[s].rows,
                         "tile_cols", tiles[s].cols);
        set_metric(h, metric);
        set_engine(h, e);
        knng_graph* g = NULL;
        expect_ok(knng_build(h, k, NULL, &g, NULL), label);
        expect_graph(g, &expected, label);
        knng_graph_destroy(g);
        knng_destroy(h);
      }
    oracle_graph_free(&expected);
  }
  rows_free(rows);
}

enum { n = 97, d = 11 };
static double x[n * d];

static void check_values(int32_t dtype, int64_t k, const char* name) {
  test_rows rows = rows_from(dtype, n, d, x);
  check(&rows, k, name);
}

static void fill_normal(uint64_t seed, double scale, double offset) {
  for (int i = 0; i < n * d; ++i) x[i] = offset + scale * roughly_normal(&seed);
}

static void all_rows_equal(void** state) {
  (void)state;
  for (int i = 0; i < n * d; ++i) x[i] = (i % d) + 0.25;
  for (int t = 0; t < ROW_DTYPES; ++t) check_values(row_dtypes[t], 5, "all rows equal");
  check_values(KNNG_F32, n - 1, "all rows equal, all neighbours");
}

static void constant_rows(void** state) {
  (void)state;
  /* 0.1 is no binary fraction: a computed mean differs from it, the stored values do not differ from each other. */
  for (int i = 0; i < n * d; ++i) x[i] = 0.1;
  check_values(KNNG_F64, 5, "constant rows of 0.1");
  check_values(KNNG_F32, 5, "constant rows of 0.1");
  uint64_t seed = 1;
  fill_normal(2, 1, 3);
  for (int i = 0; i < n; ++i)
    if (uniform(&seed) < 0.4)
      for (int t = 0; t < d; ++t) x[i * d + t] = 0.1 * (1 + i % 3);
  check_values(KNNG_F64, 20, "some constant rows");
  check_values(KNNG_F16, 20, "some constant rows");
}

static void zero_rows(void** state) {
  (void)state;
  uint64_t seed = 3;
  fill_normal(4, 1, 0);
  for (int i = 0; i < n; ++i)
    if (uniform(&seed) < 0.1)
      for (int t = 0; t < d; ++t) x[i * d + t] = (i + t) % 2 ? 0.0 : -0.0;
  check_values(KNNG_F32, 12, "a tenth zero rows");
  check_values(KNNG_F32, n - 1, "a tenth zero rows, all neighbours");
  for (int i = 0; i < n * d; ++i) x[i] = 0;
  for (int t = 0; t < ROW_DTYPES; ++t) check_values(row_dtypes[t], 4, "zeros");
  for (int i = 0; i < n * d; ++i) x[i] = i % 3 ? 0.0 : -0.0;
  check_values(KNNG_F64, 4, "zeros of both signs");
}

static void signed_zeros(void** state) {
  (void)state;
  uint64_t seed = 5;
  for (int i = 0; i < n * d; ++i) {
    const double u = uniform(&seed);
    x[i] = u < 0.4 ? 0.0 : u < 0.8 ? -0.0 : 1;
  }
  check_values(KNNG_F32, 9, "zeros of both signs and ones");
  check_values(KNNG_F16, 9, "zeros of both signs and ones");
  check_values(KNNG_BF16, 9, "zeros of both signs and ones");
}

static void tight_blobs(void** state) {
  (void)state;
  uint64_t seed = 6;
  double centre[d];
  for (int i = 0; i < n; ++i) {
    if (i % 4 == 0)
      for (int t = 0; t < d; ++t) centre[t] = 1000 * roughly_normal(&seed);
    for (int t = 0; t < d; ++t) x[i * d + t] = centre[t] + 1e-9 * roughly_normal(&seed);
  }
  check_values(KNNG_F64, 6, "tight blobs");
  check_values(KNNG_F32, 6, "tight blobs");
}

static void duplicates(void** state) {
  (void)state;
  uint64_t seed = 7;
  fill_normal(8, 1, 0);
  for (int i = 20; i < n; ++i) memcpy(x + i * d, x + (int)(20 * uniform(&seed)) * d, d * sizeof(double));
  check_values(KNNG_F32, 10, "duplicates");
  check_values(KNNG_I8, 10, "duplicates");
}

static void sorted_input(void** state) {
  (void)state;
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < d; ++t) x[i * d + t] = i + 0.01 * t;
  check_values(KNNG_F32, 8, "ascending");
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < d; ++t) x[i * d + t] = (n - i) * (n - i) + 0.01 * t;
  check_values(KNNG_F32, 8, "descending");
}

static void one_far_outlier(void** state) {
  (void)state;
  fill_normal(9, 1, 0);
  for (int t = 0; t < d; ++t) x[40 * d + t] = 1e9;
  check_values(KNNG_F32, 6, "one far outlier");
  check_values(KNNG_F64, 6, "one far outlier");
}

static void large_offset(void** state) {
  (void)state;
  fill_normal(10, 1, 1e6);
  check_values(KNNG_F32, 6, "offset 1e6");
  check_values(KNNG_F64, 6, "offset 1e6");
}

static void all_scales(void** state) {
  (void)state;
  static const double scales[] = {1e-30, 1e-20, 1e-10, 1e10, 1e20, 1e30};
  for (size_t s = 0; s < sizeof scales / sizeof *scales; ++s) {
    fill_normal(11 + s, scales[s], 0);
    check_values(KNNG_F32, 6, "scaled");
    check_values(KNNG_BF16, 6, "scaled");
  }
  uint64_t seed = 20;
  for (int i = 0; i < n * d; ++i) x[i] = pow(10, 60 * uniform(&seed) - 30) * (uniform(&seed) < 0.5 ? -1 : 1);
  check_values(KNNG_F32, 6, "scales from 1e-30 to 1e30");
  for (int i = 0; i < n * d; ++i) x[i] = fabs(x[i]);
  check_values(KNNG_F32, 6, "positive scales from 1e-30 to 1e30");
}

static void near_1e200(void** state) {
  (void)state;
  fill_normal(21, 1e200, 0);
  check_values(KNNG_F64, 6, "near 1e200");
  for (int i = 0; i < n * d; ++i) x[i] = fabs(x[i]);
  check_values(KNNG_F64, 6, "positive, near 1e200");
  fill_normal(22, 1e-200, 0);
  check_values(KNNG_F64, 6, "near 1e-200");
}

static void denormals(void** state) {
  (void)state;
  uint64_t seed = 23;
  for (int i = 0; i < n * d; ++i) x[i] = ldexp(floor(64 * uniform(&seed)) - 20, -1074);
  check_values(KNNG_F64, 6, "fp64 denormals");
  for (int i = 0; i < n * d; ++i) x[i] = fabs(x[i]) + (i % d == 0 ? ldexp(1, -1074) : 0);
  check_values(KNNG_F64, 6, "positive fp64 denormals");
  for (int i = 0; i < n * d; ++i) x[i] = ldexp(floor(64 * uniform(&seed)) - 20, -149);
  check_values(KNNG_F32, 6, "fp32 denormals");
  for (int i = 0; i < n * d; ++i) x[i] = ldexp(floor(64 * uniform(&seed)) - 20, -24);
  check_values(KNNG_F16, 6, "fp16 denormals");
  for (int i = 0; i < n * d; ++i) x[i] = ldexp(floor(64 * uniform(&seed)) - 20, -133);
  check_values(KNNG_BF16, 6, "bf16 denormals");
}

/* Two heaps so far apart that single precision cannot tell the points of a heap from each other. */
static void integers_beyond_single_precision(void** state) {
  (void)state;
  static const struct {
    int32_t dtype;
    double apart;
  } types[] = {{KNNG_I32, 0x1p30}, {KNNG_U32, 0x1p31}, {KNNG_I64, 0x1p52}, {KNNG_U64, 0x1p52}};
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    uint64_t seed = 24;
    for (int i = 0; i < n * d; ++i) x[i] = floor(64 * uniform(&seed)) + (i / d % 2 ? types[t].apart : 0);
    check_values(types[t].dtype, 6, "two heaps of integers");
  }
}

static void grids(void** state) {
  (void)state;
  double grid[10 * 10 * 2];
  for (int i = 0; i < 100; ++i) {
    grid[2 * i] = i / 10;
    grid[2 * i + 1] = i % 10;
  }
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows rows = rows_from(row_dtypes[t], 100, 2, grid);
    check(&rows, 8, "a 10 x 10 grid");
  }
}

static void one_dimension(void** state) {
  (void)state;
  uint64_t seed = 24;
  for (int i = 0; i < n; ++i) x[i] = floor(30 * uniform(&seed));
  test_rows rows = rows_from(KNNG_F32, n, 1, x);
  check(&rows, 5, "one dimension");
  rows = rows_from(KNNG_F32, 6, 1, x);
  check(&rows, 5, "n = k + 1");
}

/* The limit on magnitudes: half of it is taken, twice as much as the definition allows is refused. */
static void the_overflow_limit(void** state) {
  (void)state;
  const double most = sqrt(DBL_MAX / d) / 2; /* d (2 most)^2 = DBL_MAX */
  for (int above = 0; above < 2; ++above) {
    fill_normal(25, 1, 0);
    x[3 * d + 5] = most * (above ? 1.01 : 0.5);
    x[4 * d + 5] = -x[3 * d + 5];
    test_rows rows = rows_from(KNNG_F64, n, d, x);
    knng* h = HANDLE(&rows, "metric", "sqeuclidean");
    knng_graph* g = NULL;
    const knng_status status = knng_build(h, n - 1, NULL, &g, &reported);
    if (above) {
      EXPECT_ERROR(status, KNNG_ERR_DATA, "sqeuclidean");
      const knng_error e = reported;
      assert_int_equal(e.row, 3);
      assert_int_equal(e.col, 5);
    } else {
      expect_ok(status, "half of the limit");
      const oracle_task task = {"sqeuclidean", 2, 0, 0};
      oracle_graph expected = oracle_build(&task, n, d, rows.x, n - 1);
      assert_true(isfinite(expected.values[4 * (n - 1) - 1]));
      expect_graph(g, &expected, "half of the limit");
      oracle_graph_free(&expected);
    }
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_rows_equal),
      cmocka_unit_test(constant_rows),
      cmocka_unit_test(zero_rows),
      cmocka_unit_test(signed_zeros),
      cmocka_unit_test(tight_blobs),
      cmocka_unit_test(duplicates),
      cmocka_unit_test(sorted_input),
      cmocka_unit_test(one_far_outlier),
      cmocka_unit_test(large_offset),
      cmocka_unit_test(all_scales),
      cmocka_unit_test(near_1e200),
      cmocka_unit_test(denormals),
      cmocka_unit_test(integers_beyond_single_precision),
      cmocka_unit_test(grids),
      cmocka_unit_test(one_dimension),
      cmocka_unit_test(the_overflow_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
