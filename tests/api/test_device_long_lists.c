/* Clusters of so many dimensions that products in fp16 leave several times k candidates (engine=fused on GPUs): a
 * sample of the rows tells, and lists are long there and short elsewhere. The bits are those of tiles in memory. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* Just enough pairs for a sample (kPairsWorthSampling in src/backend/cuda/engines/engine.h), and fewer coordinates than
 * are rounded to bytes. */
enum { many = 92700, dim = 320, centres = 100, neighbours = 10, short_list = 32 };

static test_rows about_centres(float distance) {
  test_rows rows = rows_normal(KNNG_F32, many, dim, 701), of_centres = rows_normal(KNNG_F32, centres, dim, 702);
  float *values = rows.data, *centre = of_centres.data;
  uint64_t state = 703;
  for (int64_t i = 0; i < many; ++i) {
    const int64_t c = (int64_t)(random_bits(&state) % centres);
    for (int64_t t = 0; t < dim; ++t) values[i * dim + t] += distance * centre[c * dim + t];
  }
  rows_free(&of_centres);
  return rows;
}

static void expect_lists(float distance, bool are_long, const char* label) {
  test_rows rows = about_centres(distance);
  static const int of[] = {1, 6}; /* euclidean, inner_product */
  for (size_t m = 0; m < sizeof of / sizeof *of; ++m) {
    const question q = question_of(&rows, &metric_cases[of[m]], neighbours);
    knng* tiled = handle_for(&q, "cuda:0", "tiled", "auto", "0");
    knng_graph* expected = NULL;
    expect_ok(answer(tiled, &q, NULL, &expected), label);
    knng_destroy(tiled);
    for (const char* const* set = device_sets(); *set; ++set) {
      knng* h = handle_for(&q, *set, "fused", "auto", "0");
      knng_graph* g = NULL;
      expect_ok(answer(h, &q, NULL, &g), label);
      expect_same(expected, g, label);
      const double candidates = stat_of(g, "candidates_max"), redone = stat_of(g, "redone_fp64");
      printf("%s, %s, %s: at most %.0f candidates, %.0f rows redone\n", label, q.metric.metric, *set, candidates,
             redone);
      assert_int_equal((int64_t)stat_of(g, "bound_violations"), 0);
      if (of[m] == 1) {
        assert_true((candidates > short_list) == are_long);
        assert_true(redone < many / 200.0);
      }
      knng_graph_destroy(g);
      knng_destroy(h);
    }
    knng_graph_destroy(expected);
  }
  rows_free(&rows);
}

static void of_clusters(void** state) {
  (void)state;
  expect_lists(10, true, "clusters");
}
static void of_one_cluster(void** state) {
  (void)state;
  expect_lists(0, false, "one cluster");
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  if (fake_devices || small_run()) {
    printf("skipped: so many rows are for GPUs, and for full runs\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {DEVICE_TEST(of_clusters), DEVICE_TEST(of_one_cluster)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
