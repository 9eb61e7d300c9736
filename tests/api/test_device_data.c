/* Devices answer as the CPU does, whatever they are asked about: queries, rows that break careless code, duplicates,
 * bytes, and heaps that climb the ladder of precisions rung by rung. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

static const char *const automatic[] = {"auto", NULL}, *const zero[] = {"0", NULL};

static void queries_and_ids_to_leave_out(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "9", NULL};
  test_rows rows = rows_positive(KNNG_U8, 141, 11, 305);
  int64_t leave_out[37];
  for (int64_t i = 0; i < 37; ++i) leave_out[i] = i % 3 ? (i * 31) % 141 : -1;
  int turn = 0;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows queries = rows_positive(row_dtypes[t], 37, 11, 306);
    for (int m = 0; m < device_metric_count(); ++m)
      for (int left = 0; left < 2; ++left) {
        if (!tried(turn++, 8)) continue;
        question q = question_of(&rows, &metric_cases[m], m % 2 ? 140 : 8);
        q.queries = &queries;
        q.leave_out = left ? leave_out : NULL;
        check_devices(&q, automatic, left ? tiles : zero, left ? "queries, some left out" : "queries");
      }
    rows_free(&queries);
  }
  rows_free(&rows);
}

/* The data sets that break careless code. x: n x d, filled with normal values before. */
enum { nasty_n = 130, nasty_d = 8, nasty_sets = 10 };
static void make_nasty(int set, double* x) {
  uint64_t seed = 307;
  for (int i = 0; i < nasty_n * nasty_d; ++i) x[i] = roughly_normal(&seed);
  for (int i = 0; i < nasty_n; ++i)
    for (int t = 0; t < nasty_d; ++t) {
      double* v = &x[i * nasty_d + t];
      switch (set) {
        case 0: *v = 0.1; break;                                   /* all rows equal and constant */
        case 1: *v = i % 10 ? *v : 0; break;                       /* zero rows */
        case 2: *v = i % 7 ? *v : 3; break;                        /* constant rows */
        case 3: *v = i % 2 ? *v : x[(i / 4) * nasty_d + t]; break; /* duplicates */
        case 4: *v = i == 5 ? 1e9 * (t + 1) : *v; break;           /* one far outlier */
        case 5: *v += 1e6; break;                                  /* far from the origin */
        case 6: *v *= 1e-30; break;
        case 7: *v *= 1e30; break;
        case 8: *v = i % 5 ? *v : -0.0; break;
        default: *v *= i % 2 ? 1e-20 : 1e15; break; /* scales that never meet */
      }
    }
}

static void nasty_data(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "37", NULL};
  static double x[nasty_n * nasty_d];
  static const int32_t dtypes[] = {KNNG_F32, KNNG_F64};
  int turn = 0;
  for (int set = 0; set < nasty_sets; ++set)
    for (int t = 0; t < 2; ++t) {
      make_nasty(set, x);
      test_rows rows = rows_from(dtypes[t], nasty_n, nasty_d, x);
      char label[24];
      snprintf(label, sizeof label, "nasty %d", set);
      for (int m = 0; m < device_metric_count(); ++m) {
        if (!tried(turn++, 5)) continue;
        question q = question_of(&rows, &metric_cases[m], 6);
        check_devices(&q, automatic, zero, label); /* what fp32 cannot hold is refused by both */
        q.value_type = "f64";
        if (t == (m + set) % 2) check_devices(&q, automatic, tiles + 1, label);
      }
      rows_free(&rows);
    }
  for (int levels = 1; levels < 4; ++levels) { /* full of ties and duplicates */
    test_rows rows = rows_grid(KNNG_I8, 150, 3, levels, 308);
    for (int m = 0; m < device_metric_count(); ++m) {
      if (!tried(turn++, 2)) continue;
      const question q = question_of(&rows, &metric_cases[m], 12);
      check_devices(&q, NULL, tiles, "grid");
    }
    rows_free(&rows);
  }
}

/* Eight heaps over the whole range of a byte; within a heap the key of two rows is 125 for each row between them. */
static test_rows heaps_of_bytes(int32_t dtype, int64_t n, int64_t d) {
  const int64_t heap = n / 8;
  const double lowest = dtype == KNNG_U8 ? 0 : -128;
  double* x = malloc((size_t)(n * d) * sizeof *x);
  uint64_t seed = 323;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t t = 0; t < d; ++t) {
      double* v = &x[i * d + t];
      *v = i % heap == 0 ? lowest + floor(251 * uniform(&seed)) : x[(i - 1) * d + t];
      if (i % heap != 0 && t / 5 == i % heap) *v += 5;
    }
  test_rows rows = rows_from(dtype, n, d, x);
  free(x);
  return rows;
}

/* In any memory. GPUs multiply bytes of so many dimensions exactly, so that the filter proves rows of heaps in
 * which fp16 cannot tell neighbours from their rivals. */
static void bytes_in_blocks(const question* q, const char* engine) {
  const int64_t nq = q->queries ? q->queries->n : 0, lists = q->queries ? nq : q->rows->n;
  const int exact = !fake_devices && (q->rows->dtype == KNNG_I8 || strcmp(q->metric.metric, "inner_product") != 0);
  knng_graph *expected = graph_of_cpu(q), *g = NULL;
  knng* h = handle_for(q, device_sets()[0], engine, "auto", "0");
  const knng_plan free_plan = planned(h, nq, q->k);
  for (int step = 0; step < (q->queries ? 2 : 3); ++step) {
    if (step == 1) set_bytes(h, "max_device_bytes", free_plan.smallest_device);
    if (step == 2) give_least_memory(h, 0, q->k, 0);
    const knng_plan plan = planned(h, nq, q->k);
    expect_ok(answer(h, q, NULL, &g), "bytes");
    expect_same(expected, g, step ? "bytes in little memory" : "bytes");
    assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
    assert_true(stat_of(g, "proved") == (double)lists && stat_of(g, "refined") == (double)lists);
    unsigned char* proof = rows_of(g, "proof");
    int64_t by_filter = 0;
    for (int64_t i = 0; i < lists; ++i) by_filter += proof[i] == 1;
    /* Compared in registers, a young list may find more of its heap than it has room for, and is redone. */
    if (exact && strcmp(engine, "tiled") == 0) assert_int_equal(by_filter, lists);
    if (exact && by_filter < lists * 9 / 10) fail_msg("%d of %d rows are proved by bytes", (int)by_filter, (int)lists);
    free(proof);
    knng_graph_destroy(g);
    g = NULL;
  }
  knng_destroy(h);
  knng_graph_destroy(expected);
}

/* GPUs multiply them as bytes, the fewer with engine=fused alone; inner products of unsigned ones, and of two kinds,
 * they do not. */
static void bytes_of_dimensions(int64_t d, const char* engine) {
  static const char *const edges[] = {"50", NULL}, *const both[] = {"0", "50", NULL};
  static const metric_case metrics[] = {{"sqeuclidean", "2", 1}, {"euclidean", "2", 1}, {"inner_product", "2", 1}};
  const int64_t n = !fake_devices ? 1100 : small_run() ? 64 : 96;
  int64_t leave_out[37];
  for (int64_t i = 0; i < 37; ++i) leave_out[i] = i % 3 ? (i * 31) % n : -1;
  for (int m = 0; m < 3; ++m)
    for (int t = 0; t < 2; ++t) {
      if (small_run() && m == 1) continue;
      const int32_t dtype = t ? KNNG_I8 : KNNG_U8;
      test_rows rows = heaps_of_bytes(dtype, n, d), queries = rows_normal(dtype, 37, d, 324),
                others = rows_normal(t ? KNNG_U8 : KNNG_I8, 37, d, 325);
      question q = question_of(&rows, &metrics[m], 5);
      check_devices(&q, fake_devices ? automatic : NULL, fake_devices ? edges : both, "bytes");
      bytes_in_blocks(&q, engine);
      q.queries = &queries;
      bytes_in_blocks(&q, engine);
      check_devices(&q, automatic, edges, "queries of bytes");
      q.leave_out = leave_out;
      check_devices(&q, automatic, zero, "queries of bytes, some left out");
      q.queries = &others;
      check_devices(&q, automatic, zero, "queries of other bytes");
      rows_free(&rows);
      rows_free(&queries);
      rows_free(&others);
    }
}

static void bytes_of_many_dimensions(void** state) {
  (void)state;
  bytes_of_dimensions(2051, "tiled");
}
static void bytes_of_some_dimensions(void** state) {
  (void)state;
  bytes_of_dimensions(723, "fused");
}

/* Where points come in blocks, each block's lists are opened by whatever tile it is in first. */
static void check_in_blocks(question* q, const char* what) {
  const int64_t asked = q->queries ? q->queries->n : 0;
  knng_error failure;
  knng_graph* expected = answer_of_cpu(q, &failure);
  assert_non_null(expected);
  for (const char* const* set = device_sets(); *set; ++set) {
    knng* h = handle_for(q, *set, "fused", "auto", fake_devices ? "20" : "1000");
    const int64_t whole = planned(h, asked, q->k).device_bytes;
    give_least_memory(h, asked, q->k, 0);
    assert_true(planned(h, asked, q->k).device_bytes < whole);
    expect_answer(h, q, expected, &failure, what);
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
}

static void blocks_of_products(void** state) {
  (void)state;
  static const int metrics[] = {1, 2, 6}; /* euclidean, cosine, inner_product */
  const int64_t n = !fake_devices ? 5500 : 96, nq = !fake_devices ? 1300 : 37;
  for (int m = 0; m < 3; ++m)
    for (int bytes = 0; bytes < 2; ++bytes) {
      const int32_t dtype = !bytes ? KNNG_F32 : KNNG_I8;
      test_rows rows = rows_normal(dtype, n, 130, 330), queries = rows_normal(dtype, nq, 130, 331);
      question q = question_of(&rows, &metric_cases[metrics[m]], 9);
      check_in_blocks(&q, "blocks");
      q.queries = &queries;
      check_in_blocks(&q, "queries in blocks");
      rows_free(&rows);
      rows_free(&queries);
    }
}

/* Lists of more than 4,096, and one row so far away that nothing is known of its products. */
static void blocks_with_long_lists_or_an_outlier(void** state) {
  (void)state;
  const int64_t n = !fake_devices ? 5500 : 96;
  test_rows rows = rows_normal(KNNG_F32, n, 130, 332), queries = rows_normal(KNNG_F32, 64, 130, 333);
  question q = question_of(&rows, &metric_cases[1], !fake_devices ? 4200 : 9);
  q.queries = &queries;
  check_in_blocks(&q, "long lists in blocks");
  for (int64_t at = (n - 2) * rows.d; at < (n - 1) * rows.d; ++at) {
    encode(rows.dtype, rows.data, at, 1e20);
    rows.x[at] = decode(rows.dtype, rows.data, at);
  }
  q.k = 9;
  check_in_blocks(&q, "queries and an outlier in blocks");
  q.queries = NULL;
  check_in_blocks(&q, "an outlier in blocks");
  rows_free(&rows);
  rows_free(&queries);
}

/* The same of bools as of bytes, beside queries of bytes. */
static void bools_of_many_dimensions(void** state) {
  (void)state;
  static const char* const edges[] = {"50", NULL};
  static const metric_case metrics[] = {{"sqeuclidean", "2", 1}, {"euclidean", "2", 1}, {"inner_product", "2", 1}};
  const int64_t n = !fake_devices ? 1100 : small_run() ? 64 : 96, d = 2051;
  test_rows rows = rows_normal(KNNG_BOOL, n, d, 326), queries = rows_normal(KNNG_BOOL, 37, d, 327),
            others = rows_grid(KNNG_U8, 37, d, 2, 328);
  for (int m = 0; m < 3; ++m) {
    if (small_run() && m == 1) continue;
    question q = question_of(&rows, &metrics[m], 5);
    check_devices(&q, automatic, edges, "bools");
    q.queries = &queries;
    check_devices(&q, automatic, edges, "queries of bools");
    q.queries = &others;
    check_devices(&q, automatic, zero, "queries of bytes");
  }
  rows_free(&rows);
  rows_free(&queries);
  rows_free(&others);
}

/* Two heaps so far apart that single precision cannot tell the points of a heap from each other: in no filter may
 * integers be taken for exact. */
static void integers_beyond_single_precision(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "37", NULL};
  static const struct {
    int32_t dtype;
    double apart;
  } types[] = {{KNNG_I32, 0x1p30}, {KNNG_U32, 0x1p31}, {KNNG_I64, 0x1p52}, {KNNG_U64, 0x1p52}};
  enum { n = 150, d = 19 };
  static double x[n * d];
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    uint64_t seed = 329;
    for (int i = 0; i < n * d; ++i) x[i] = floor(64 * uniform(&seed)) + (i / d % 2 ? types[t].apart : 0);
    test_rows rows = rows_from(types[t].dtype, n, d, x), queries = rows_from(KNNG_F32, 20, d, x);
    for (int m = small_run() ? (int)t : 0; m < device_metric_count(); m += small_run() ? 4 : 1) {
      question q = question_of(&rows, &metric_cases[m], 6);
      q.value_type = "f64";
      check_devices(&q, automatic, tiles + m % 2, "two heaps of integers");
      q.queries = &queries;
      check_devices(&q, automatic, zero, "queries of two heaps of integers");
    }
    rows_free(&rows);
    rows_free(&queries);
  }
}

/* Sums without products are filtered in single precision, of types that it holds alone. */
static void sums_have_a_filter_where_single_precision_is_exact(void** state) {
  (void)state;
  static const metric_case manhattan = {"manhattan", "2", 0};
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows rows = rows_normal(row_dtypes[t], 40, 9, 330);
    const question q = question_of(&rows, &manhattan, 5);
    knng* h = handle_for(&q, device_sets()[0], "tiled", "auto", "0");
    knng_graph* g = NULL;
    if (fits_single(row_dtypes[t])) {
      expect_ok(answer(h, &q, NULL, &g), dtype_label(row_dtypes[t]));
      char engine[16];
      expect_ok(knng_graph_text(g, "engine", engine, sizeof engine, NULL, NULL), "engine");
      assert_string_equal(engine, "tiled");
    } else {
      EXPECT_ERROR(knng_build(h, 5, NULL, &g, &reported), KNNG_ERR_UNSUPPORTED, "engine=tiled");
      assert_string_equal(reported.argument, "engine");
    }
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
}

/* By which rungs rows were proved; and rows that the fp32 rung was asked for. */
typedef struct rungs {
  int64_t reached[5];
  double redone_fp32;
} rungs;

/* Heaps whose size was halved so often. */
static void climb(const metric_case* m, const char* set, int halvings, rungs* r) {
  test_rows rows = heaps(400, halvings);
  const question q = question_of(&rows, m, 5);
  knng_graph *expected = graph_of_cpu(&q), *g = NULL;
  knng* h = handle_for(&q, set, "tiled", "auto", "0");
  expect_ok(answer(h, &q, NULL, &g), "heaps");
  expect_same(expected, g, "heaps");
  unsigned char* proof = rows_of(g, "proof");
  int64_t reached[5] = {0};
  for (int64_t i = 0; i < 400; ++i) ++reached[proof[i]];
  assert_true(stat_of(g, "redone_fp64") == (double)reached[4]);
  assert_true(stat_of(g, "proved") == 400 && stat_of(g, "refined") == 400);
  if (stat_of(g, "redone_fp32") == 0) assert_int_equal(reached[3], 0);
  for (int rung = 0; rung < 5; ++rung) r->reached[rung] += reached[rung];
  r->redone_fp32 += stat_of(g, "redone_fp32");
  free(proof);
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  knng_destroy(h);
  rows_free(&rows);
}

static void fail_with(const rungs* r) {
  fail_msg("proofs: %lld by the filter, %lld in two pieces, %lld in fp32, %lld in fp64; %.0f rows redone in fp32",
           (long long)r->reached[1], (long long)r->reached[2], (long long)r->reached[3], (long long)r->reached[4],
           r->redone_fp32);
}

static void every_rung_of_the_ladder(void** state) {
  (void)state;
  int turn = 0;
  rungs r = {{0}, 0};
  for (int halvings = 0; halvings <= 14; halvings += 2)
    for (const char* const* set = device_sets(); *set; ++set)
      if (tried(turn++, 2)) climb(&metric_cases[1], *set, halvings, &r);
  if (!r.reached[1] || !r.reached[2] || (fake_devices && !r.reached[3]) || !r.reached[4] || r.redone_fp32 == 0)
    fail_with(&r);
}

/* Where there are no products the filter is followed by canonical keys of all pairs, if it proves few rows. */
static void every_rung_without_products(void** state) {
  (void)state;
  int turn = 0;
  test_rows rows = heaps(400, 0);
  rungs r = {{0}, 0};
  for (int m = 7; m < device_metric_count(); ++m) {
    const question q = question_of(&rows, &metric_cases[m], 5);
    if (is_product(&q.metric) || !has_device_filter(&q)) continue;
    for (int halvings = 0; halvings <= 16; halvings += 4)
      if (tried(turn++, 3)) climb(&metric_cases[m], device_sets()[0], halvings, &r);
  }
  rows_free(&rows);
  if (!r.reached[1] || r.reached[2] || r.reached[3] || (fake_devices && !r.reached[4]) || r.redone_fp32 != 0)
    fail_with(&r);
}

/* 24 coordinates of 0 or 1, and copies of them. */
static test_rows corners_of_a_cube(int32_t dtype, int64_t n, int64_t copies, uint64_t seed) {
  const int64_t d = 24 * copies;
  double* x = malloc((size_t)(n * d) * sizeof *x);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t t = 0; t < d; ++t) x[i * d + t] = t < 24 ? floor(2 * uniform(&seed)) : x[i * d + t - 24];
  test_rows rows = rows_from(dtype, n, d, x);
  free(x);
  return rows;
}

/* Far more points are as near as a list's last than it has room for, so that no precision proves a row. GPUs then
 * evaluate the keys of those that are no farther, and of few others. */
static void far_more_ties_than_a_list_holds(void** state) {
  (void)state;
  static const int metrics[] = {1, 2, 6}; /* euclidean, cosine, inner_product */
  static const char* const engines[] = {"fused", "tiled"};
  const int64_t n = !fake_devices ? 6000 : 96, nq = !fake_devices ? 700 : 37;
  int turn = 0;
  for (int m = 0; m < 3; ++m)
    for (int bytes = 0; bytes < 2; ++bytes) {
      const int32_t dtype = bytes ? KNNG_I8 : KNNG_F32;
      const int64_t copies = bytes ? 3 : 1;
      test_rows rows = corners_of_a_cube(dtype, n, copies, 340), queries = corners_of_a_cube(dtype, nq, copies, 341);
      question q = question_of(&rows, &metric_cases[metrics[m]], 30);
      for (int asked = 0; asked < 2; ++asked) {
        if (asked) q.queries = &queries;
        knng_graph* expected = graph_of_cpu(&q);
        for (const char* const* set = device_sets(); *set; ++set) {
          if (!tried(turn++, 3)) continue;
          knng_graph* g = NULL;
          knng* h = handle_for(&q, *set, engines[(m + turn) % 2], "auto", "0");
          expect_ok(answer(h, &q, NULL, &g), "ties");
          expect_same(expected, g, "ties");
          const double lists = (double)(asked ? nq : n), redone = stat_of(g, "redone_fp64"), keys = stat_of(g, "keys");
          if (!fake_devices && ((m == 0 && redone < lists / 2) || keys > lists * (double)n / 2))
            fail_msg("%s, %d queries: %.0f of %.0f rows redone, %.0f keys", q.metric.metric, (int)(asked ? nq : 0),
                     redone, lists, keys);
          knng_graph_destroy(g);
          knng_destroy(h);
        }
        knng_graph_destroy(expected);
      }
      rows_free(&rows);
      rows_free(&queries);
    }
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(queries_and_ids_to_leave_out),
      DEVICE_TEST(nasty_data),
      DEVICE_TEST(bytes_of_many_dimensions),
      DEVICE_TEST(bytes_of_some_dimensions),
      DEVICE_TEST(blocks_of_products),
      DEVICE_TEST(blocks_with_long_lists_or_an_outlier),
      DEVICE_TEST(bools_of_many_dimensions),
      DEVICE_TEST(integers_beyond_single_precision),
      DEVICE_TEST(sums_have_a_filter_where_single_precision_is_exact),
      DEVICE_TEST(every_rung_of_the_ladder),
      DEVICE_TEST(every_rung_without_products),
      DEVICE_TEST(far_more_ties_than_a_list_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
