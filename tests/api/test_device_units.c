/* Product units of devices: a problem on devices of different generations has one model, the weakest, which those that
 * are none insist on (tests/backend/fake_cuda.cpp); and a unit that adds up wrongly is not used: the next precision is,
 * at last canonical keys, and the log says so once. On GPUs with faults injected as well (--faults). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

enum { FP16 = 1, FP32 = 2, BYTES = 4, FUSED = 8 }; /* KNNG_UNIT bits */

/* Lines of the log that tell of a unit. */
typedef struct logged_lines {
  int count;
  char last[256];
} logged_lines;

static void on_log(void* user, int32_t level, const char* text) {
  logged_lines* lines = user;
  if (!strstr(text, "this is not used")) return;
  assert_int_equal(level, 1);
  ++lines->count;
  snprintf(lines->last, sizeof lines->last, "%s", text);
}

static knng_graph* graph_logged(const knng* h, const question* q, logged_lines* lines) {
  memset(lines, 0, sizeof *lines);
  const knng_control c = {sizeof(knng_control), 0, NULL, on_log, lines, NULL, 0};
  knng_graph* g = NULL;
  expect_ok(answer(h, q, &c, &g), "units");
  return g;
}

/* Whatever the order of the devices: two generations, three, all the same. */
static void devices_share_one_model(void** state) {
  (void)state;
  if (!fake_devices) skip();
  test_rows rows = heaps(400, 12), queries = rows_positive(KNNG_F32, 60, rows.d, 331);
  static const char* const generations[] = {"0:lost=56;1:lost=17;2:lost=26", "0:lost=17;1:lost=56;2:lost=56",
                                            "0:lost=17;1:lost=26;2:lost=56", "0:lost=56;1:lost=56;2:lost=56"};
  static const char* const sets[] = {"cuda:0,1", "cuda:1,0", "cuda:2,0,1", "cuda:1"};
  for (int with_queries = 0; with_queries < 2; ++with_queries) {
    question q = question_of(&rows, &metric_cases[1], 5);
    if (with_queries) q.queries = &queries;
    knng_graph* expected = graph_of_cpu(&q);
    for (int s = 0; s < 4; ++s) {
      knng* h = handle_for(&q, sets[s], "tiled", "auto", "48");
      for (int g = 0; g < 4; ++g) {
        devices_behave(generations[g]);
        logged_lines lines;
        knng_graph* found = graph_logged(h, &q, &lines);
        expect_same(expected, found, sets[s]);
        assert_int_equal(lines.count, 0);
        knng_graph_destroy(found);
      }
      knng_destroy(h);
    }
    knng_graph_destroy(expected);
  }
  rows_free(&queries);
  rows_free(&rows);
}

typedef struct doubt {
  const char* behaviour;
  int without, devices; /* of all devices together; how many tell */
  const char* said;
} doubt;

/* Rows that climb the ladder to its end; points that stay on the devices, and points that come in blocks. */
static void a_unit_that_is_wrong_is_not_used(void** state) {
  (void)state;
  if (!fake_devices) skip();
  static const doubt doubts[] = {{"0:without=1", FP16, 1, "cuda:0: this is not used: made wrong by a test"},
                                 {"1:without=2", FP32, 1, "cuda:1: this is not used: made wrong by a test"},
                                 {"0:without=1;1:without=2", FP16 | FP32, 2, "cuda:"},
                                 {"0:without=7;1:without=7", FP16 | FP32 | BYTES, 2, "cuda:"},
                                 {"1:without=4", BYTES, 1, "cuda:1"}};
  enum { DOUBTS = sizeof doubts / sizeof *doubts };
  test_rows all[] = {heaps(400, 12), rows_normal(KNNG_U8, 200, 2100, 332)};
  for (int r = 0; r < 2; ++r) {
    const int multiplies_bytes = all[r].dtype == KNNG_U8;
    const question q = question_of(&all[r], &metric_cases[0], 5);
    knng_graph* expected = graph_of_cpu(&q);
    for (int blocks = 0; blocks < 2; ++blocks)
      for (int i = 0; i < DOUBTS; ++i) {
        knng* h = handle_for(&q, "cuda:0,1", "tiled", "auto", blocks ? "0" : "64");
        if (blocks) give_least_memory(h, 0, q.k, 0);
        devices_behave(doubts[i].behaviour);
        const int concerns = doubts[i].without & (multiplies_bytes ? BYTES : FP16 | FP32);
        const int none_left = concerns == (multiplies_bytes ? BYTES : FP16 | FP32);
        logged_lines lines;
        knng_graph* g = graph_logged(h, &q, &lines);
        expect_same(expected, g, doubts[i].behaviour);
        assert_int_equal(lines.count, concerns ? doubts[i].devices : 0);
        if (concerns) assert_non_null(strstr(lines.last, doubts[i].said));
        unsigned char* proof = rows_of(g, "proof");
        for (int64_t row = 0; row < all[r].n; ++row) {
          assert_int_not_equal(proof[row], 0);
          if (!multiplies_bytes && (concerns & FP16)) assert_true(proof[row] >= 3);
          if (!multiplies_bytes && (concerns & FP32)) assert_int_not_equal(proof[row], 3);
          if (none_left) assert_int_equal(proof[row], 4);
        }
        if (none_left) assert_true(stat_of(g, "redone_fp64") == (double)all[r].n && stat_of(g, "refined") == 0);
        free(proof);
        knng_graph_destroy(g);
        devices_behave("");
        knng_destroy(h);
      }
    knng_graph_destroy(expected);
  }
  for (int r = 0; r < 2; ++r) rows_free(&all[r]);
}

/* The kernels of engine=fused are a unit of its own: without them it has tiles in memory, on the same rungs. Others do
 * not ask for it. */
static void fused_kernels_that_are_wrong_are_not_used(void** state) {
  (void)state;
  if (!fake_devices) skip();
  test_rows rows = heaps(400, 12);
  const question q = question_of(&rows, &metric_cases[0], 5);
  knng_graph* expected = graph_of_cpu(&q);
  for (int fused = 0; fused < 2; ++fused) {
    knng* h = handle_for(&q, "cuda:0,1", fused ? "fused" : "tiled", "auto", "64");
    unsigned char* proofs[2];
    for (int without = 0; without < 2; ++without) {
      devices_behave(without ? "1:without=8" : "");
      logged_lines lines;
      knng_graph* g = graph_logged(h, &q, &lines);
      expect_same(expected, g, "without fused kernels");
      assert_int_equal(lines.count, fused && without);
      if (lines.count) assert_non_null(strstr(lines.last, "cuda:1: this is not used"));
      proofs[without] = rows_of(g, "proof");
      knng_graph_destroy(g);
    }
    assert_memory_equal(proofs[0], proofs[1], rows.n);
    for (int i = 0; i < 2; ++i) free(proofs[i]);
    devices_behave("");
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
  rows_free(&rows);
}

/* Told once, though the call begins anew: rows that equal others are left out, or memory is short. Metrics without
 * products need no such unit. */
static void a_build_tells_it_once(void** state) {
  (void)state;
  if (!fake_devices || injecting_faults) skip();
  test_rows rows = rows_normal(KNNG_F32, 300, 12, 333);
  for (int64_t i = 100; i < 300; ++i) memcpy((float*)rows.data + i * 12, (float*)rows.data + i % 100 * 12, 48);
  question q = question_of(&rows, &metric_cases[0], 5);
  knng_graph* expected = graph_of_cpu(&q);
  knng* h = handle_for(&q, "cuda:0", "tiled", "auto", "0");
  logged_lines lines;
  devices_behave("0:without=1");
  knng_graph* g = graph_logged(h, &q, &lines);
  expect_same(expected, g, "duplicates");
  assert_int_equal(lines.count, 1);
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  knng_destroy(h);

  int manhattan = 0;
  while (strcmp(metric_cases[manhattan].metric, "manhattan") != 0) ++manhattan;
  q.metric = metric_cases[manhattan];
  expected = graph_of_cpu(&q);
  devices_behave("0:without=7");
  h = handle_for(&q, "cuda:0", "tiled", "auto", "0");
  g = graph_logged(h, &q, &lines);
  expect_same(expected, g, "manhattan");
  assert_int_equal(lines.count, 0);
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  knng_destroy(h);
  rows_free(&rows);
}

/* Where no product is made, rows that the metric refuses are found as well. */
static void refused_rows_are_found_without_products(void** state) {
  (void)state;
  if (!fake_devices) skip();
  test_rows rows = rows_positive(KNNG_F64, 500, 301, 324);
  ((double*)rows.data)[450 * 301 + 7] = ((double*)rows.data)[140 * 301 + 299] = -1;
  int hellinger = 0;
  while (strcmp(metric_cases[hellinger].metric, "hellinger") != 0) ++hellinger;
  const question q = question_of(&rows, &metric_cases[hellinger], 5);
  devices_behave("0:without=7");
  for (int blocks = 0; blocks < 2; ++blocks) {
    knng* h = handle_for(&q, "cuda:0,1", "tiled", "auto", "0");
    if (blocks) give_least_memory(h, 0, q.k, 0);
    knng_graph* g = NULL;
    EXPECT_ERROR(answer(h, &q, NULL, &g), KNNG_ERR_DATA, "140", "299");
    assert_null(g);
    knng_destroy(h);
  }
  rows_free(&rows);
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(devices_share_one_model),
      DEVICE_TEST(a_unit_that_is_wrong_is_not_used),
      DEVICE_TEST(fused_kernels_that_are_wrong_are_not_used),
      DEVICE_TEST(a_build_tells_it_once),
      DEVICE_TEST(refused_rows_are_found_without_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
