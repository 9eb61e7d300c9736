/* Tiles of more than 2^31 pairs, and operands of as many values, on GPUs that have the memory for them: no plan has
 * such tiles by itself, settings ask for them. The bits are those of planned tiles and of the CPU. And tiles that are
 * cut, since the GPU would be at them for too long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

static const double many = 2147483648.0; /* 2^31 */
static int cases_done;

/* A handle whose tiles have so many rows and columns; NULL, with the reason printed: the GPU has too little memory. */
static knng* with_tiles(const question* q, const char* engine, const char* selector, const char* rows,
                        const char* columns) {
  knng* h = handle_for(q, "cuda:0", engine, selector, rows);
  expect_ok(knng_set(h, "tile_cols", columns, NULL), "tile_cols");
  knng_plan p;
  memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  const knng_status status = knng_estimate(h, q->queries ? q->queries->n : 0, q->k, &p, NULL);
  if (status == KNNG_ERR_DEVICE) {
    printf("%s %s: not run: %s\n", engine, selector, knng_last_error());
    knng_destroy(h);
    return NULL;
  }
  expect_ok(status, "knng_estimate");
  const int64_t n = q->rows->n, lists = q->queries ? q->queries->n : n;
  const int64_t high = atoll(rows), wide = atoll(columns);
  if (p.tile_rows < (high < lists ? high : lists) || p.tile_cols < (wide < n ? wide : n)) {
    printf("%s %s: not run: too little memory but for cut tiles\n", engine, selector);
    knng_destroy(h);
    return NULL;
  }
  printf("%s %s: tiles of %lld x %lld, %.1f GB on the device\n", engine, selector, (long long)p.tile_rows,
         (long long)p.tile_cols, (double)p.device_bytes / 1e9);
  return h;
}

/* Two blocks of rows and some more: a tile of both sides, those on the diagonal, and narrow ones. */
static void same_as_planned(const metric_case* m, const char* engine, const char* selector) {
  static const char side[] = "49152";
  test_rows rows = rows_normal(KNNG_F32, 98400, 32, 331);
  const question q = question_of(&rows, m, 10);
  knng* h = with_tiles(&q, engine, selector, side, side);
  if (h) {
    const knng_plan p = planned(h, 0, q.k);
    assert_true((double)p.tile_rows * (double)p.tile_cols > many);
    knng_graph *g = NULL, *expected = NULL;
    expect_ok(answer(h, &q, NULL, &g), "a large tile");
    /* In each of the precisions. */
    const int64_t tiles = (int64_t)stat_of(g, "tiles");
    const int whole = tiles % p.tiles == 0 && tiles <= 4 * p.tiles;
    if (!whole) printf("%s %s: on this GPU they are cut\n", engine, selector);
    knng* plain = handle_for(&q, "cuda:0", engine, selector, "0");
    const knng_plan free_plan = planned(plain, 0, q.k);
    assert_true((double)free_plan.tile_rows * (double)free_plan.tile_cols < many);
    expect_ok(answer(plain, &q, NULL, &expected), "planned tiles");
    expect_same(expected, g, "a large tile");
    int64_t first_wrong = 0;
    expect_ok(knng_check(h, g, 300, NULL, &first_wrong, NULL), "knng_check");
    assert_int_equal(first_wrong, -1);
    knng_graph_destroy(expected);
    knng_graph_destroy(g);
    knng_destroy(plain);
    knng_destroy(h);
    cases_done += whole;
  }
  const int done = h != NULL;
  rows_free(&rows);
  if (!done) skip();
}

static const metric_case products = {"sqeuclidean", "2", 1}, sums = {"manhattan", "2", 0};

static void products_quick(void** state) {
  (void)state;
  same_as_planned(&products, "tiled", "quick");
}
static void products_insertion(void** state) {
  (void)state;
  same_as_planned(&products, "tiled", "insertion");
}
/* Some 97 GB. */
static void products_batch_sort(void** state) {
  (void)state;
  same_as_planned(&products, "tiled", "batch_sort");
}
static void sums_quick(void** state) {
  (void)state;
  same_as_planned(&sums, "tiled", "quick");
}
static void canonical_keys_quick(void** state) {
  (void)state;
  same_as_planned(&sums, "direct", "quick");
}

static int64_t tiles_of(int64_t n, int64_t queries, int64_t side) {
  const int64_t blocks = (n + side - 1) / side;
  return queries ? (queries + side - 1) / side * blocks : blocks * (blocks + 1) / 2;
}

/* Of a metric that takes long for each pair of so many dimensions: tiles of the large side are cut on any GPU, those of
 * the small side on none. */
static void same_in_cut_tiles(const char* engine, int64_t n, int64_t queries, const char* large, const char* small) {
  static const metric_case powers = {"minkowski", "3", 0};
  test_rows rows = rows_normal(KNNG_F32, n, 2048, 334), some = rows_normal(KNNG_F32, queries ? queries : 1, 2048, 335);
  question q = question_of(&rows, &powers, 10);
  if (queries) q.queries = &some;
  knng* h = handle_for(&q, "cuda:0", engine, "auto", large);
  knng* whole = handle_for(&q, "cuda:0", engine, "auto", small);
  knng_graph *g = NULL, *expected = NULL;
  expect_ok(answer(h, &q, NULL, &g), "cut tiles");
  expect_ok(answer(whole, &q, NULL, &expected), "whole tiles");
  expect_same(expected, g, "cut tiles");
  const int64_t cut = (int64_t)stat_of(g, "tiles"), uncut = (int64_t)stat_of(expected, "tiles");
  printf("%s: %lld tiles, %lld whole ones\n", engine, (long long)cut, (long long)uncut);
  /* Sums may need the second of their precisions. */
  const int64_t rungs = strcmp(engine, "tiled") == 0 ? 2 : 1, once = tiles_of(n, queries, atoll(small));
  assert_true(cut > rungs * tiles_of(n, queries, atoll(large)));
  assert_true(uncut == once || uncut == rungs * once);
  if (!queries) {
    int64_t first_wrong = 0;
    expect_ok(knng_check(h, g, 5, NULL, &first_wrong, NULL), "knng_check");
    assert_int_equal(first_wrong, -1);
  }
  ++cases_done;
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  knng_destroy(h);
  knng_destroy(whole);
  rows_free(&rows);
  rows_free(&some);
}

static void cut_tiles_of_keys(void** state) {
  (void)state;
  same_in_cut_tiles("direct", 16000, 0, "8192", "512");
}
static void cut_tiles_of_sums(void** state) {
  (void)state;
  same_in_cut_tiles("tiled", 32000, 0, "32000", "512");
}
static void cut_tiles_of_queries(void** state) {
  (void)state;
  same_in_cut_tiles("direct", 16000, 3000, "16000", "512");
}

static test_rows random_bytes(int64_t n, int64_t d, uint64_t seed) {
  test_rows rows = {n, d, KNNG_U8, malloc((size_t)(n * d)), NULL};
  assert_non_null(rows.data);
  for (int64_t e = 0; e < n * d; e += 8) {
    const uint64_t bits = random_bits(&seed);
    memcpy((unsigned char*)rows.data + e, &bits, (size_t)(n * d - e < 8 ? n * d - e : 8));
  }
  return rows;
}

/* Few queries beside a block of columns whose operands are 2^31 bytes. */
static void wide_tiles_of_bytes(void** state) {
  (void)state;
  const int64_t n = 1048600, d = 2051;
  test_rows rows = random_bytes(n, d, 332), queries = random_bytes(16, d, 333);
  question q = question_of(&rows, &products, 10);
  q.queries = &queries;
  knng* h = with_tiles(&q, "tiled", "quick", "16", "1048576");
  const int done = h != NULL;
  if (h) {
    assert_true((double)planned(h, queries.n, q.k).tile_cols * (double)d > many);
    knng_graph *expected = graph_of_cpu(&q), *g = NULL;
    expect_ok(answer(h, &q, NULL, &g), "a wide tile");
    expect_same(expected, g, "a wide tile");
    knng_graph_destroy(expected);
    knng_graph_destroy(g);
    knng_destroy(h);
    ++cases_done;
  }
  rows_free(&rows);
  rows_free(&queries);
  if (!done) skip();
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  if (fake_devices || small_run()) {
    printf("skipped: large tiles are for GPUs, and for full runs\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(products_quick),    DEVICE_TEST(products_insertion),   DEVICE_TEST(products_batch_sort),
      DEVICE_TEST(sums_quick),        DEVICE_TEST(canonical_keys_quick), DEVICE_TEST(wide_tiles_of_bytes),
      DEVICE_TEST(cut_tiles_of_keys), DEVICE_TEST(cut_tiles_of_sums),    DEVICE_TEST(cut_tiles_of_queries),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (failed == 0 && cases_done == 0) {
    printf("skipped: too little memory is free on the device\n");
    return 77;
  }
  return failed;
}
