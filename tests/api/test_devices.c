/* Devices answer as the CPU does: whatever set of them works, with whatever engine, selector and tiles, in memory as it
 * was planned: ids, bits and ties. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

static int is_product(const metric_case* m) {
  return m->product || (strcmp(m->metric, "minkowski") == 0 && strcmp(m->p, "2") == 0);
}

/* Whether engine=tiled has a filter: products, or sums of what single precision holds. */
static int has_filter(const question* q) {
  if (is_product(&q->metric)) return 1;
  if (strcmp(q->metric.metric, "jensenshannon") == 0) return 0;
  return q->rows->dtype != KNNG_F64 && !(q->queries && q->queries->dtype == KNNG_F64);
}

static const char *const automatic[] = {"auto", NULL}, *const zero[] = {"0", NULL};
static const char* const selectors[] = {"auto", "insertion", "batch_sort", "quick", NULL};

/* Every set of devices and every engine, with these selectors and tiles. */
static void check(const question* q, const char* const* of_selectors, const char* const* tiles, const char* what) {
  static const char* const engines[] = {"auto", "direct", "tiled"};
  static int turn;
  knng_error failure;
  knng_graph* expected = answer_of_cpu(q, &failure);
  const char* const* sets = device_sets();
  int set_count = 0;
  while (sets[set_count]) ++set_count;
  for (int s = 0; s < set_count; ++s) {
    int way = 0;
    for (int e = 0; e < (has_filter(q) ? 3 : 2); ++e)
      for (const char* const* selector = of_selectors; *selector; ++selector)
        for (const char* const* tile = tiles; *tile; ++tile, ++way) {
          /* Sessions of GPUs take long to open: there every way is gone once, and by all sets the first. In a small
           * run every way is gone once, by another set each time. */
          if (fake_devices ? small_run() && (way + turn) % set_count != s : s > 0 && way > 0) continue;
          /* Devices that are none do not select: enough of them. */
          if (fake_devices && e == 2 && selector != of_selectors) continue;
          char label[240];
          snprintf(label, sizeof label, "%s: %s p=%s %s n=%lld k=%lld device=%s engine=%s selector=%s tile_rows=%s",
                   what, q->metric.metric, q->metric.p, dtype_label(q->rows->dtype), (long long)q->rows->n,
                   (long long)q->k, sets[s], engines[e], *selector, *tile);
          knng* h = handle_for(q, sets[s], engines[e], *selector, *tile);
          expect_answer(h, q, expected, &failure, label);
          knng_destroy(h);
        }
  }
  ++turn;
  knng_graph_destroy(expected);
}

static void every_metric_engine_and_selector(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "50", NULL};
  test_rows rows = rows_positive(KNNG_F32, 170, 19, 301);
  for (int m = 0; m < metric_count(); ++m) {
    const question q = question_of(&rows, &metric_cases[m], 7);
    check(&q, selectors, tiles, "metrics");
  }
  rows_free(&rows);
}

static void every_row_type(void** state) {
  (void)state;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows rows = rows_positive(row_dtypes[t], 90, 33, 302);
    for (int m = 0; m < metric_count(); ++m) {
      const question q = question_of(&rows, &metric_cases[m], 5);
      check(&q, automatic, zero, "row types");
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
        check(&q, automatic, n > 65 ? tiles + 2 : tiles, "sizes");
      }
    rows_free(&rows);
  }
}

static void what_is_reported(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 120, 6, 4, 304);
  for (int m = 0; m < metric_count(); ++m)
    for (int s = 0; s < 8; ++s) {
      question q = question_of(&rows, &metric_cases[m], 9);
      if (s & 1) q.self = "first";
      if (s & 2) q.value_type = "f64";
      if (s & 4) q.value = "similarity";
      if ((s & 4) && !has_similarity(&q.metric)) continue;
      check(&q, automatic, zero, "reported");
    }
  rows_free(&rows);
}

static void queries_and_ids_to_leave_out(void** state) {
  (void)state;
  static const char* const tiles[] = {"0", "9", NULL};
  test_rows rows = rows_positive(KNNG_U8, 141, 11, 305);
  int64_t leave_out[37];
  for (int64_t i = 0; i < 37; ++i) leave_out[i] = i % 3 ? (i * 31) % 141 : -1;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows queries = rows_positive(row_dtypes[t], 37, 11, 306);
    for (int m = 0; m < metric_count(); ++m)
      for (int left = 0; left < 2; ++left) {
        question q = question_of(&rows, &metric_cases[m], m % 2 ? 140 : 8);
        q.queries = &queries;
        q.leave_out = left ? leave_out : NULL;
        check(&q, automatic, left ? tiles + 1 : zero, left ? "queries, some left out" : "queries");
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
  for (int set = 0; set < nasty_sets; ++set)
    for (int t = 0; t < 2; ++t) {
      make_nasty(set, x);
      test_rows rows = rows_from(dtypes[t], nasty_n, nasty_d, x);
      char label[24];
      snprintf(label, sizeof label, "nasty %d", set);
      for (int m = 0; m < metric_count(); ++m) {
        question q = question_of(&rows, &metric_cases[m], 6);
        check(&q, automatic, zero, label); /* what fp32 cannot hold is refused by both */
        q.value_type = "f64";
        if (t == (m + set) % 2) check(&q, automatic, tiles + 1, label);
      }
      rows_free(&rows);
    }
  for (int levels = 1; levels < 4; ++levels) { /* full of ties and duplicates */
    test_rows rows = rows_grid(KNNG_I8, 150, 3, levels, 308);
    for (int m = 0; m < metric_count(); ++m) {
      const question q = question_of(&rows, &metric_cases[m], 12);
      check(&q, selectors, tiles, "grid");
    }
    rows_free(&rows);
  }
}

static void expect_budget_error(const knng* h, const question* q, const char* name, int64_t smallest) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)smallest);
  knng_graph* g = NULL;
  EXPECT_ERROR(answer(h, q, NULL, &g), KNNG_ERR_BUDGET, name, text);
  assert_null(g);
  knng_error e;
  e.struct_size = sizeof e;
  knng_last_error_get(&e);
  assert_true(e.limit == smallest && e.given == smallest - 1);
}

static void memory_is_as_planned(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, small_run() ? 700 : 1100, 20, 309),
            queries = rows_normal(KNNG_F32, 300, 20, 310);
  int64_t leave_out[300];
  for (int64_t i = 0; i < 300; ++i) leave_out[i] = i;
  /* In few dimensions devices answer rows, without tiles and lists. */
  test_rows low_rows = rows_normal(KNNG_F32, small_run() ? 500 : 1100, 3, 319),
            low_queries = rows_normal(KNNG_F32, 300, 3, 320);
  for (int problem = 0; problem < 6; ++problem)
    for (const char* const* set = device_sets(); *set; ++set) {
      question q = question_of(problem < 4 ? &rows : &low_rows, &metric_cases[problem == 3 ? 7 : 1], 10);
      if (problem == 1 || problem == 2) q.queries = &queries;
      if (problem == 5) q.queries = &low_queries;
      if (problem == 2 || problem == 5) q.leave_out = leave_out;
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      knng* h = handle_for(&q, *set, "auto", "auto", "0");
      const int64_t nq = q.queries ? 300 : 0;
      const knng_plan free = planned(h, nq, q.k);
      assert_true(free.device_bytes > 0 && free.smallest_device > 0 && free.smallest_device <= free.device_bytes);
      /* Tiles of more than 128 rows, the fewest, can be smaller: that is tried below. */
      assert_true(free.tile_rows <= 128 || free.smallest_device < free.device_bytes);
      assert_int_equal(free.devices, strcmp(*set, "cuda") == 0 ? usable_devices : (int64_t)strlen(*set) / 2 - 2);
      for (int step = 0; step < 3; ++step) {
        if (step > 0) set_bytes(h, "max_device_bytes", step == 1 ? free.device_bytes : free.smallest_device);
        const knng_plan plan = planned(h, nq, q.k);
        assert_true(plan.smallest_device == free.smallest_device);
        set_bytes(h, "max_host_bytes", plan.smallest_host);
        expect_ok(answer(h, &q, NULL, &g), "within the smallest budgets");
        expect_same(expected, g, "any budget");
        assert_true(stat_of(g, "bytes_device_peak") > 0);
        assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
        assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.host_bytes);
        assert_true(stat_of(g, "tiles") == (double)plan.tiles);
        knng_graph_destroy(g);
        set_bytes(h, "max_host_bytes", plan.smallest_host - 1);
        expect_budget_error(h, &q, "max_host_bytes", plan.smallest_host);
        set_bytes(h, "max_host_bytes", plan.host_bytes + (INT64_C(1) << 30));
      }
      set_bytes(h, "max_device_bytes", free.smallest_device - 1);
      assert_true(planned(h, nq, q.k).smallest_device == free.smallest_device);
      expect_budget_error(h, &q, "max_device_bytes", free.smallest_device);
      knng_destroy(h);
      knng_graph_destroy(expected);
    }
  rows_free(&rows);
  rows_free(&queries);
  rows_free(&low_rows);
  rows_free(&low_queries);
}

/* Points that come block by block: whatever part of them a device can hold, and however many devices there are. */
static void more_points_than_fit(void** state) {
  (void)state;
  const int64_t n = small_run() ? 300 : 700;
  int64_t budgets = 0;
  for (int m = 0; m < METRIC_CASES; m += small_run() ? 4 : 1) {
    test_rows rows = rows_positive(row_dtypes[m % ROW_DTYPES], n, 301, 321);
    test_rows queries = rows_positive(rows.dtype, 70, 301, 322); /* as they are planned for */
    for (int asked = 0; asked < 3; ++asked) {
      question q = question_of(&rows, &metric_cases[m], 6);
      if (asked == 0) q.queries = &queries;
      if (asked == 2) q.self = "first";
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      for (const char* const* set = device_sets(); *set; ++set) {
        /* Sessions of GPUs take long to open, and small runs long in all. */
        if ((!fake_devices || small_run()) && (set - device_sets() + m + asked) % 4) continue;
        knng* h = handle_for(&q, *set, "auto", m % 3 ? "auto" : "insertion", "0");
        const int64_t nq = q.queries ? 70 : 0;
        const knng_plan free = planned(h, nq, q.k);
        for (int step = 0; step < 4; step += small_run() ? 3 : 1) {
          /* From three blocks of 128 up to nearly all. */
          set_bytes(h, "max_device_bytes",
                    free.smallest_device + step * (free.device_bytes - free.smallest_device) / 4);
          const int64_t before = fake_devices ? fake_count("blocks", 0) : 0;
          const knng_plan plan = planned(h, nq, q.k);
          char label[160];
          snprintf(label, sizeof label, "blocks: %s device=%s asked=%d step=%d", q.metric.metric, *set, asked, step);
          expect_ok(answer(h, &q, NULL, &g), label);
          expect_same(expected, g, label);
          assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
          if (fake_devices && fake_count("blocks", 0) > before) ++budgets;
          knng_graph_destroy(g);
          g = NULL;
        }
        knng_destroy(h);
      }
      knng_graph_destroy(expected);
    }
    rows_free(&rows);
    rows_free(&queries);
  }
  if (fake_devices) assert_true(budgets > 0);
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

/* In any memory. Bytes of many dimensions are multiplied exactly by GPUs, so that the filter proves rows of heaps in
 * which fp16 cannot tell neighbours from their rivals. */
static void bytes_in_blocks(const question* q) {
  const int64_t nq = q->queries ? q->queries->n : 0, lists = q->queries ? nq : q->rows->n;
  const int exact = !fake_devices && (q->rows->dtype == KNNG_I8 || strcmp(q->metric.metric, "inner_product") != 0);
  knng_graph *expected = graph_of_cpu(q), *g = NULL;
  knng* h = handle_for(q, device_sets()[0], "tiled", "auto", "0");
  const knng_plan free_plan = planned(h, nq, q->k);
  for (int step = 0; step < 2; ++step) {
    if (step) set_bytes(h, "max_device_bytes", free_plan.smallest_device);
    const knng_plan plan = planned(h, nq, q->k);
    expect_ok(answer(h, q, NULL, &g), "bytes");
    expect_same(expected, g, step ? "bytes in little memory" : "bytes");
    assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
    assert_true(stat_of(g, "proved") == (double)lists && stat_of(g, "refined") == (double)lists);
    unsigned char* proof = rows_of(g, "proof");
    for (int64_t i = 0; i < lists && exact; ++i) assert_int_equal(proof[i], 1);
    free(proof);
    knng_graph_destroy(g);
    g = NULL;
  }
  knng_destroy(h);
  knng_graph_destroy(expected);
}

/* GPUs multiply them as bytes; inner products of unsigned ones, and of two kinds, they do not. */
static void bytes_of_many_dimensions(void** state) {
  (void)state;
  static const char *const edges[] = {"50", NULL}, *const both[] = {"0", "50", NULL};
  static const metric_case metrics[] = {{"sqeuclidean", "2", 1}, {"euclidean", "2", 1}, {"inner_product", "2", 1}};
  const int64_t n = fake_devices ? 96 : 1100, d = 2051;
  int64_t leave_out[37];
  for (int64_t i = 0; i < 37; ++i) leave_out[i] = i % 3 ? (i * 31) % n : -1;
  for (int m = 0; m < 3; ++m)
    for (int t = 0; t < 2; ++t) {
      if (small_run() && m == 1) continue;
      const int32_t dtype = t ? KNNG_I8 : KNNG_U8;
      test_rows rows = heaps_of_bytes(dtype, n, d), queries = rows_normal(dtype, 37, d, 324),
                others = rows_normal(t ? KNNG_U8 : KNNG_I8, 37, d, 325);
      question q = question_of(&rows, &metrics[m], 5);
      check(&q, fake_devices ? automatic : selectors, fake_devices ? edges : both, "bytes");
      bytes_in_blocks(&q);
      q.queries = &queries;
      bytes_in_blocks(&q);
      check(&q, automatic, edges, "queries of bytes");
      q.leave_out = leave_out;
      check(&q, automatic, zero, "queries of bytes, some left out");
      q.queries = &others;
      check(&q, automatic, zero, "queries of other bytes");
      rows_free(&rows);
      rows_free(&queries);
      rows_free(&others);
    }
}

/* The scale of points in blocks is that of a sample, 512 of them: others may be far beyond it and are proved all the
 * same. Not by devices that are none, whose rungs know no scale. */
static void points_far_beyond_a_sample(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 700, 301, 325);
  for (int64_t e = 600 * rows.d; e < rows.n * rows.d; ++e) ((float*)rows.data)[e] *= 512;
  for (int self = 0; self < 2; ++self) {
    question q = question_of(&rows, &metric_cases[1], 6);
    q.self = self ? "first" : "exclude";
    knng_graph *expected = graph_of_cpu(&q), *g = NULL;
    knng* h = handle_for(&q, device_sets()[self && usable_devices > 1 ? 2 : 0], "tiled", "auto", "0");
    set_bytes(h, "max_device_bytes", planned(h, 0, q.k).smallest_device);
    expect_ok(answer(h, &q, NULL, &g), "far points");
    expect_same(expected, g, "far points");
    if (!fake_devices) assert_true(stat_of(g, "redone_fp64") == 0);
    knng_graph_destroy(g);
    knng_graph_destroy(expected);
    knng_destroy(h);
  }
  rows_free(&rows);
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
  rungs r = {{0}, 0};
  for (int halvings = 0; halvings <= 14; halvings += 2)
    for (const char* const* set = device_sets(); *set; ++set) climb(&metric_cases[1], *set, halvings, &r);
  if (!r.reached[1] || !r.reached[2] || (fake_devices && !r.reached[3]) || !r.reached[4] || r.redone_fp32 == 0)
    fail_with(&r);
}

/* Where there are no products the filter is followed by canonical keys of all pairs, if it proves few rows. */
static void every_rung_without_products(void** state) {
  (void)state;
  test_rows rows = heaps(400, 0);
  rungs r = {{0}, 0};
  for (int m = 7; m < METRIC_CASES; ++m) {
    const question q = question_of(&rows, &metric_cases[m], 5);
    if (is_product(&q.metric) || !has_filter(&q)) continue;
    for (int halvings = 0; halvings <= 16; halvings += 4) climb(&metric_cases[m], device_sets()[0], halvings, &r);
  }
  rows_free(&rows);
  if (!r.reached[1] || r.reached[2] || r.reached[3] || (fake_devices && !r.reached[4]) || r.redone_fp32 != 0)
    fail_with(&r);
}

/* float64 rows are no values of single precision, and jensenshannon has no filter: asked for, it is refused. */
static void filters_that_there_are_not(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F64, 40, 9, 321), single = rows_positive(KNNG_F32, 40, 9, 321);
  for (int m = 0; m < METRIC_CASES; ++m)
    for (int s = 0; s < 2; ++s) {
      const question q = question_of(s ? &single : &rows, &metric_cases[m], 3);
      if (has_filter(&q)) continue;
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
      DEVICE_TEST(every_metric_engine_and_selector),
      DEVICE_TEST(every_row_type),
      DEVICE_TEST(sizes_around_tile_edges),
      DEVICE_TEST(what_is_reported),
      DEVICE_TEST(queries_and_ids_to_leave_out),
      DEVICE_TEST(nasty_data),
      DEVICE_TEST(memory_is_as_planned),
      DEVICE_TEST(more_points_than_fit),
      DEVICE_TEST(bytes_of_many_dimensions),
      DEVICE_TEST(points_far_beyond_a_sample),
      DEVICE_TEST(every_rung_of_the_ladder),
      DEVICE_TEST(every_rung_without_products),
      DEVICE_TEST(filters_that_there_are_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
