/* Where cut-offs are guessed from columns drawn at random (engine=fused on GPUs, many neighbours of many points): the
 * CPU's graph, whatever the guesses are worth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* So many neighbours of so many points are worth a guess (unit.cutoff_guess). */
enum { many = 40000, dim = 24, neighbours = 100 };
/* What knng_graph_rows() calls "proof". */
enum { by_filter = 1, by_two_pieces = 2 };

static void expect_guessed(const question* q, const char* label) {
  knng_error failure;
  knng_graph* expected = answer_of_cpu(q, &failure);
  assert_non_null(expected);
  for (const char* const* set = device_sets(); *set; ++set) {
    knng* h = handle_for(q, *set, "fused", "auto", "0");
    expect_answer(h, q, expected, &failure, label);
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
}

/* Nearly all rows are proved in the precision that can tell them apart: no pass was left out or made for the sake of
 * the others. Guesses are too low for one row in 20,000. */
static void expect_proved_by(const knng_graph* g, unsigned char proof_of_rows, int64_t points) {
  unsigned char* proof = rows_of(g, "proof");
  int64_t proved = 0;
  for (int64_t i = 0; i < points; ++i) proved += proof[i] == proof_of_rows;
  free(proof);
  if (proved < points - points / 2000)
    fail_msg("%lld of %lld rows were proved by %d", (long long)proved, (long long)points, proof_of_rows);
}

/* Of many points: some rows, which the CPU checks. */
static void expect_sample_proved_by(unsigned char proof, const question* q, int64_t points, const char* label) {
  enum { checked = 2000 };
  for (const char* const* set = device_sets(); *set; ++set) {
    knng* h = handle_for(q, *set, "fused", "auto", "0");
    knng_graph* g = built(h, q->k);
    int64_t wrong = 0;
    expect_ok(knng_check(h, g, checked, NULL, &wrong, NULL), label);
    assert_int_equal(wrong, -1);
    expect_proved_by(g, proof, points);
    knng_graph_destroy(g);
    knng_destroy(h);
  }
}

static void skip_without_guesses(void) {
  if (fake_devices || small_run()) skip();
}

static void product_metrics(void** state) {
  (void)state;
  skip_without_guesses();
  test_rows rows = rows_normal(KNNG_F32, many, dim, 501);
  static const int metrics[] = {1, 2, 6}; /* euclidean, cosine, inner_product */
  for (size_t m = 0; m < sizeof metrics / sizeof *metrics; ++m) {
    const question q = question_of(&rows, &metric_cases[metrics[m]], neighbours);
    expect_guessed(&q, q.metric.metric);
  }
  rows_free(&rows);
}

/* So many that an order of cells is looked for, and none is found. */
static void squares_in_registers(void** state) {
  (void)state;
  skip_without_guesses();
  test_rows rows = rows_normal(KNNG_F32, 140001, 64, 509);
  const question q = question_of(&rows, &metric_cases[1], neighbours);
  expect_sample_proved_by(by_filter, &q, q.rows->n, "squares");
  rows_free(&rows);
}

/* GPUs multiply them as such. */
static void bytes(void** state) {
  (void)state;
  skip_without_guesses();
  enum { wide = 130, asked = 3001 };
  static const int32_t dtypes[] = {KNNG_U8, KNNG_I8};
  for (int t = 0; t < 2; ++t) {
    test_rows rows = rows_normal(dtypes[t], many, wide, 505), queries = rows_normal(dtypes[t], asked, wide, 506);
    question q = question_of(&rows, &metric_cases[t ? 6 : 1], neighbours);
    expect_guessed(&q, "bytes");
    q.queries = &queries;
    expect_guessed(&q, "queries of bytes");
    rows_free(&rows);
    rows_free(&queries);
  }
}

/* Points of a closed curve in their order, as series in time have them: all that lie below a row's guess are stored
 * next to it, more than its list has room for when it has seen nothing. */
static void neighbours_side_by_side(void** state) {
  (void)state;
  skip_without_guesses();
  /* Of 100,000 a sample tells first whether guesses are worth anything; and of so many on the curve fp16 does not tell
   * the nearest from the others. */
  static const struct {
    int32_t dtype;
    int64_t points, wide;
    unsigned char proof;
  } series[] = {
      {KNNG_F32, many, dim, by_filter}, {KNNG_F32, 100000, dim, by_two_pieces}, {KNNG_U8, 100000, 80, by_filter}};
  for (int t = 0; t < 3; ++t) {
    const int32_t dtype = series[t].dtype;
    const int64_t points = series[t].points, wide = series[t].wide;
    test_rows rows = rows_normal(dtype, points, wide, 507), noise = rows_normal(KNNG_F32, points, wide, 508);
    const float* const deviations = noise.data;
    for (int64_t i = 0; i < points * wide; ++i) {
      const double turns = (double)(i / wide) / (double)points * (double)(1 + i % wide / 2);
      const double at = 6.283185307179586 * turns, wave = i % 2 ? sin(at) : cos(at);
      if (dtype == KNNG_U8)
        ((uint8_t*)rows.data)[i] = (uint8_t)lrint(128 + 110 * wave + (double)deviations[i]);
      else
        ((float*)rows.data)[i] = (float)(wave + 0.01 * (double)deviations[i]);
    }
    const question q = question_of(&rows, &metric_cases[1], neighbours);
    const char* const label = dtype == KNNG_U8 ? "bytes side by side" : "side by side";
    expect_sample_proved_by(series[t].proof, &q, points, label);
    if (t != 1) expect_guessed(&q, label);
    rows_free(&noise);
    rows_free(&rows);
  }
}

/* Clusters far apart, which take two pieces of fp16 and an order of cells: all that lies below a row's guess comes at
 * once. */
static void clusters_come_as_a_whole(void** state) {
  (void)state;
  skip_without_guesses();
  enum { points = 1000000, wide = 32, clusters = 100 };
  test_rows rows = rows_normal(KNNG_F32, points, wide, 511), centres = rows_normal(KNNG_F32, clusters, wide, 512);
  for (int64_t i = 0; i < points; ++i)
    for (int t = 0; t < wide; ++t)
      ((float*)rows.data)[i * wide + t] += 10 * ((const float*)centres.data)[i % clusters * wide + t];
  const question q = question_of(&rows, &metric_cases[1], neighbours);
  expect_sample_proved_by(by_two_pieces, &q, points, "clusters");
  rows_free(&centres);
  rows_free(&rows);
}

/* Keys of which few differ: guesses are the cut-off of many. */
static void tied_keys(void** state) {
  (void)state;
  skip_without_guesses();
  test_rows rows = rows_grid(KNNG_F32, many, dim, 3, 502);
  const question q = question_of(&rows, &metric_cases[1], neighbours);
  expect_guessed(&q, "ties");
  rows_free(&rows);
}

/* Rows that fp16 cannot tell apart: no guess is low enough to leave much out, and the ladder is climbed. */
static void heaps_of_rows(void** state) {
  (void)state;
  skip_without_guesses();
  test_rows rows = heaps(many / 8 * 8, 9);
  const question q = question_of(&rows, &metric_cases[1], neighbours);
  expect_guessed(&q, "heaps");
  rows_free(&rows);
}

/* Queries far from all columns and amid them, which leave columns out or none. */
static void queries_with_columns_left_out(void** state) {
  (void)state;
  skip_without_guesses();
  enum { asked = 3001 };
  test_rows rows = rows_normal(KNNG_F32, many, dim, 503), queries = rows_normal(KNNG_F32, asked, dim, 504);
  float* values = queries.data;
  for (int64_t i = 0; i < asked; i += 3)
    for (int t = 0; t < dim; ++t) values[i * dim + t] *= 50;
  static int64_t left_out[asked];
  for (int64_t i = 0; i < asked; ++i) left_out[i] = i % 2 ? -1 : i * 13;
  question q = question_of(&rows, &metric_cases[1], neighbours);
  q.queries = &queries;
  expect_guessed(&q, "queries");
  q.leave_out = left_out;
  expect_guessed(&q, "queries that leave out");
  rows_free(&rows);
  rows_free(&queries);
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(product_metrics),         DEVICE_TEST(squares_in_registers),          DEVICE_TEST(bytes),
      DEVICE_TEST(neighbours_side_by_side), DEVICE_TEST(clusters_come_as_a_whole),      DEVICE_TEST(tied_keys),
      DEVICE_TEST(heaps_of_rows),           DEVICE_TEST(queries_with_columns_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
