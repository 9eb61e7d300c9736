/* Rows that are rounded to bytes before anything else (src/backend/cuda/engines/engine.h has from which size on): the
 * bits are those of tiles in memory, which begin with fp16, whatever rows do to bytes. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* Just enough coordinates, 2^28. */
enum { dim = 2560, many = 104960 };
static const metric_case distance = {"sqeuclidean", "2", 1}, cosine = {"cosine", "2", 1},
                         correlation = {"correlation", "2", 1};

typedef enum { factors, clusters, noise, outliers } kind;

/* 16 bits at a time, from -1 to 1. */
static float next_of(uint64_t* bits, uint64_t* seed, int64_t t) {
  *bits = t % 4 == 0 ? random_bits(seed) : *bits >> 16;
  return (float)(*bits & 0xffff) * 0x1p-15f - 1;
}

/* A sum of eight factors and noise; points about 40 centres, one behind the other; noise alone, of which bytes cannot
 * tell neighbours; or factors, some rows of which have one value far beyond all others, or are far away. */
static test_rows make_rows(kind what, int64_t n, uint64_t seed) {
  enum { of_factors = 8, centres = 40 };
  test_rows rows = {n, dim, KNNG_F32, malloc((size_t)(n * dim) * sizeof(float)), NULL};
  float* const directions = malloc(sizeof(float) * centres * dim);
  assert_non_null(rows.data);
  assert_non_null(directions);
  uint64_t of_directions = 5, bits = 0;
  for (int64_t i = 0; i < centres * dim; ++i) directions[i] = next_of(&bits, &of_directions, i);
  for (int64_t i = 0; i < n; ++i) {
    float* const row = (float*)rows.data + i * dim;
    float weights[of_factors];
    for (int f = 0; f < of_factors; ++f) weights[f] = (float)roughly_normal(&seed);
    const float* const centre = directions + i * centres / n * dim;
    for (int64_t t = 0; t < dim; ++t) {
      float x = next_of(&bits, &seed, t);
      if (what == clusters) x += 8 * centre[t];
      for (int f = 0; f < of_factors && (what == factors || what == outliers); ++f)
        x += weights[f] * directions[f * dim + t];
      row[t] = x;
    }
    if (what != outliers) continue;
    if (i % 1000 == 7) row[i % dim] = 1e4f;
    if (i % 1000 == 8) row[i % dim] = -30;
    for (int64_t t = 0; t < dim && i % 20000 == 9; ++t) row[t] *= 1e6f;
    for (int64_t t = 0; t < dim && i % 20000 == 10; ++t) row[t] = 0;
  }
  free(directions);
  return rows;
}

static knng_graph* graph_by(const question* q, const char* engine) {
  knng* h = handle_for(q, "cuda:0", engine, "auto", "0");
  knng_graph* g = NULL;
  expect_ok(answer(h, q, NULL, &g), engine);
  if (!q->queries && strcmp(engine, "fused") == 0) {
    int64_t first_wrong = 0;
    expect_ok(knng_check(h, g, 100, NULL, &first_wrong, NULL), "knng_check");
    assert_int_equal(first_wrong, -1);
  }
  knng_destroy(h);
  return g;
}

/* How many keys were evaluated for each neighbour: bytes leave more to evaluate than fp16 does, and take longer lists.
 */
typedef struct {
  double keys;
  bool long_lists;
} outcome;

static outcome same_as_tiles(const question* q, const char* label) {
  knng_graph *g = graph_by(q, "fused"), *expected = graph_by(q, "tiled");
  expect_same(expected, g, label);
  assert_int_equal((int64_t)stat_of(g, "bound_violations"), 0);
  const double lists = (double)(q->queries ? q->queries->n : q->rows->n);
  const double keys = stat_of(g, "keys") / lists / (double)q->k;
  printf("%s: %.2f keys a neighbour, %.0f rows redone, at most %.0f candidates\n", label, keys,
         stat_of(g, "redone_fp64"), stat_of(g, "candidates_max"));
  const outcome found = {keys, stat_of(g, "candidates_max") > stat_of(expected, "candidates_max")};
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  return found;
}

static void expect_bytes(const question* q, double keys, const char* label) {
  const outcome found = same_as_tiles(q, label);
  assert_true(found.keys > keys);
  assert_true(found.long_lists);
}

static void of_factors(void** state) {
  (void)state;
  test_rows rows = make_rows(factors, many, 1), queries = make_rows(factors, 9000, 2);
  question q = question_of(&rows, &distance, 10);
  expect_bytes(&q, 1.5, "factors");
  q = question_of(&rows, &correlation, 32);
  expect_bytes(&q, 1.2, "factors, correlation, k = 32");
  q = question_of(&rows, &distance, 1);
  q.queries = &queries;
  expect_bytes(&q, 2, "queries of factors");
  rows_free(&rows);
  rows_free(&queries);
}
static void of_clusters(void** state) {
  (void)state;
  test_rows rows = make_rows(clusters, many + 31, 3);
  const question q = question_of(&rows, &distance, 10);
  same_as_tiles(&q, "clusters");
  rows_free(&rows);
}
static void of_noise(void** state) {
  (void)state;
  test_rows rows = make_rows(noise, many, 4);
  const question q = question_of(&rows, &distance, 10);
  const outcome found = same_as_tiles(&q, "noise");
  assert_true(found.keys < 1.5);
  assert_false(found.long_lists);
  rows_free(&rows);
}
static void of_outliers(void** state) {
  (void)state;
  test_rows rows = make_rows(outliers, many + 1, 5), queries = make_rows(outliers, 9001, 6);
  question q = question_of(&rows, &distance, 10);
  same_as_tiles(&q, "outliers");
  q = question_of(&rows, &cosine, 10);
  same_as_tiles(&q, "outliers, cosine");
  q.queries = &queries;
  same_as_tiles(&q, "queries of outliers, cosine");
  rows_free(&rows);
  rows_free(&queries);
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  if (fake_devices || small_run()) {
    printf("skipped: so many rows are for GPUs, and for full runs\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {DEVICE_TEST(of_factors), DEVICE_TEST(of_clusters), DEVICE_TEST(of_noise),
                                     DEVICE_TEST(of_outliers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
