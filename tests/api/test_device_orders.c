/* Many points (engine=fused on GPUs) are compared in an order of their own, and the graph is the CPU's: in clusters far
 * apart one in which most products are left out; else at random, so that what a row has met tells where its cut-off
 * will be, however points are stored. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* So many points are worth an order. */
enum { many = 140001, dim = 48, neighbours = 7 };

static void skip_without_orders(void) {
  if (fake_devices || small_run()) skip();
}

/* All keys would take minutes: the CPU's graph is that of its own filter. */
static void expect_ordered(const question* q, const char* label) {
  knng_error failure;
  knng* cpu = handle_for(q, "cpu", "fused", "auto", "0");
  knng_graph* expected = NULL;
  expect_ok(answer(cpu, q, NULL, &expected), label);
  knng_destroy(cpu);
  for (const char* const* set = device_sets(); *set; ++set) {
    knng* h = handle_for(q, *set, "fused", "auto", "0");
    expect_answer(h, q, expected, &failure, label);
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
}

/* Clusters of different sizes and widths, points in any order; the last `apart` points are alone, far from all. */
static test_rows clusters(int count, double distance, int apart, uint64_t seed) {
  test_rows rows = rows_normal(KNNG_F32, many, dim, seed),
            centres = rows_normal(KNNG_F32, count + apart, dim, seed + 1);
  float *values = rows.data, *of_centres = centres.data;
  uint64_t state = seed + 2;
  for (int64_t i = 0; i < many; ++i) {
    const int64_t draw = (int64_t)(random_bits(&state) % (uint64_t)(count * count));
    const int64_t cluster = i >= many - apart ? count + (many - 1 - i) : (int64_t)sqrt((double)draw);
    const float width = 1.0F / (float)(1 + cluster % 5);
    for (int t = 0; t < dim; ++t)
      values[i * dim + t] = values[i * dim + t] * width + (float)distance * of_centres[cluster * dim + t];
  }
  rows_free(&centres);
  return rows;
}

static void metrics(void** state) {
  (void)state;
  skip_without_orders();
  test_rows rows = clusters(60, 12, 3, 601);
  static const int of[] = {1, 2, 6}; /* euclidean, cosine, inner_product */
  for (size_t m = 0; m < sizeof of / sizeof *of; ++m) {
    const question q = question_of(&rows, &metric_cases[of[m]], neighbours);
    expect_ordered(&q, q.metric.metric);
  }
  /* In as much memory as is planned. */
  knng* h = handle_for(&(question){&rows, NULL, NULL, metric_cases[1], neighbours, "exclude", "distance", "auto"},
                       "cuda:0", "fused", "auto", "0");
  char bytes[24];
  snprintf(bytes, sizeof bytes, "%lld", (long long)planned(h, 0, neighbours).device_bytes);
  expect_ok(knng_set(h, "max_device_bytes", bytes, NULL), bytes);
  knng_graph* g = NULL;
  expect_ok(knng_build(h, neighbours, NULL, &g, NULL), "planned memory");
  assert_true(stat_of(g, "bytes_device_peak") <= (double)planned(h, 0, neighbours).device_bytes);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

/* Clusters that nearly touch, so that bounds of balls decide; and so many neighbours that cut-offs are guessed. */
static void distances_and_neighbours(void** state) {
  (void)state;
  skip_without_orders();
  static const double distances[] = {2.5, 4};
  for (size_t i = 0; i < sizeof distances / sizeof *distances; ++i) {
    test_rows rows = clusters(30, distances[i], 0, 611 + i);
    const question q = question_of(&rows, &metric_cases[1], i == 1 ? 100 : neighbours);
    char label[40];
    snprintf(label, sizeof label, "clusters %g apart", distances[i]);
    expect_ordered(&q, label);
    rows_free(&rows);
  }
}

/* Clusters that fp16 cannot look into: two pieces, and the order stays. */
static void clusters_of_two_pieces(void** state) {
  (void)state;
  skip_without_orders();
  test_rows rows = clusters(50, 3000, 1, 621);
  const question q = question_of(&rows, &metric_cases[1], neighbours);
  expect_ordered(&q, "clusters far apart");
  rows_free(&rows);
}

/* Points on a few lines: many at the same distance, clusters without width in most directions. */
static void points_on_lines(void** state) {
  (void)state;
  skip_without_orders();
  test_rows rows = rows_normal(KNNG_F32, many, dim, 631);
  float* values = rows.data;
  for (int64_t i = 0; i < many; ++i)
    for (int t = 0; t < dim; ++t) values[i * dim + t] = t == i % 4 ? (float)(i / 4) : (float)(i % 4 * 50000);
  const question q = question_of(&rows, &metric_cases[1], neighbours);
  expect_ordered(&q, "lines");
  rows_free(&rows);
}

static int by_first_value(const void* a, const void* b) {
  const float x = *(const float*)a, y = *(const float*)b;
  return (x > y) - (x < y);
}

/* Rows stored beside their neighbours: the columns that a row met first would be the nearest, and nearly no row would
 * be proved under a cut-off that takes them for any columns. */
static void points_by_a_coordinate(void** state) {
  (void)state;
  skip_without_orders();
  test_rows rows = rows_normal(KNNG_F32, many, dim, 641);
  float* values = rows.data;
  for (int64_t i = 0; i < many; ++i) values[i * dim] *= 6;
  qsort(values, many, dim * sizeof *values, by_first_value);
  static const struct {
    int metric; /* euclidean, cosine, inner_product */
    int64_t k;
  } cases[] = {{1, neighbours}, {1, 100}, {2, 33}, {6, 15}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    const question q = question_of(&rows, &metric_cases[cases[c].metric], cases[c].k);
    char label[60];
    snprintf(label, sizeof label, "%s, sorted, k=%d", q.metric.metric, (int)cases[c].k);
    expect_ordered(&q, label);
    knng* h = handle_for(&q, "cuda:0", "fused", "auto", "0");
    knng_graph* g = NULL;
    expect_ok(knng_build(h, cases[c].k, NULL, &g, NULL), label);
    if (stat_of(g, "redone_fp64") + stat_of(g, "redone_fp32") > many / 200)
      fail_msg("%s: %g and %g rows were redone", label, stat_of(g, "redone_fp32"), stat_of(g, "redone_fp64"));
    knng_graph_destroy(g);
    knng_destroy(h);
  }
  rows_free(&rows);
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(metrics),         DEVICE_TEST(distances_and_neighbours), DEVICE_TEST(clusters_of_two_pieces),
      DEVICE_TEST(points_on_lines), DEVICE_TEST(points_by_a_coordinate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
