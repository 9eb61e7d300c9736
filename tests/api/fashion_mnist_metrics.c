/* Fashion-MNIST whole, 70,000 x 784 bytes, once per metric with default settings: 500 random rows of the graph against
 * the oracle, ids and bits; knng_check() of other rows; and the 500 asked again, as queries under every engine that the
 * metric has. One line per metric says what it took. Of some metrics the graph takes minutes: it is made of the 10,000
 * test images, or only every fifth of the rows is asked.
 *
 *   fashion_mnist_metrics FOLDER [t10k] METRIC... [asked METRIC...]
 *                FOLDER: with train-images-idx3-ubyte and t10k-images-idx3-ubyte, or .gz
 *                t10k: without those for training
 *                METRIC: a name, or minkowski:P; products, others: all of a kind
 *                asked: of those behind it no graph is built
 *
 * Needs no build system and no current directory. Returns 77 without the data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

enum { all_images = 70000, test_images = 10000, pixels = 784, sample = 500, every_fifth = 5, neighbours = 10 };

static knng* h;
static int64_t images = all_images;
static double* x;                            /* images x pixels */
static int64_t chosen[sample];               /* rows of the sample, ascending */
static unsigned char asked[sample * pixels]; /* their values */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int add(const char* folder, const char* name) {
  static const char* const endings[] = {"", ".gz"};
  for (int e = 0; e < 2; ++e) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, endings[e]);
    FILE* file = fopen(path, "rb");
    if (!file) continue;
    fclose(file);
    if (knng_add_file(h, path, NULL, NULL) == KNNG_OK) return 0;
    printf("%s: %s\n", path, knng_last_error());
    return 1;
  }
  printf("skipped: no %s in %s (package dataset-fashion-mnist)\n", name, folder);
  return 77;
}

/* 500 different rows, wherever a generator puts them. */
static void choose(void) {
  uint64_t seed = 70000;
  static unsigned char taken[all_images];
  for (int left = sample; left > 0;) {
    const int64_t i = (int64_t)(uniform(&seed) * (double)images);
    if (!taken[i]) --left;
    taken[i] = 1;
  }
  int s = 0;
  for (int64_t i = 0; i < images; ++i) {
    if (!taken[i]) continue;
    chosen[s] = i;
    for (int t = 0; t < pixels; ++t) asked[s * pixels + t] = (unsigned char)x[i * pixels + t];
    ++s;
  }
}

static int prepare(const char* folder) {
  if (knng_create(&h, 0, 0, NULL) != KNNG_OK) return 1;
  int status = images == all_images ? add(folder, "train-images-idx3-ubyte") : 0;
  if (status == 0) status = add(folder, "t10k-images-idx3-ubyte");
  int64_t n = 0, d = 0;
  if (status != 0 || knng_shape(h, &n, &d, NULL, NULL) != KNNG_OK) return status ? status : 1;
  x = malloc(sizeof *x * (size_t)images * pixels);
  knng_matrix m = knng_packed(KNNG_F64, images, pixels, x);
  if (n != images || d != pixels || !x || knng_read(h, 0, &m, NULL) != KNNG_OK) {
    printf("%s: %lld x %lld, %s\n", folder, (long long)n, (long long)d, knng_last_error());
    return 1;
  }
  choose();
  return 0;
}

static void expect_sample(const knng_graph* g, const oracle_graph* expected, const char* metric) {
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL), values = ids;
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  assert_true(ids.rows == images && ids.cols == neighbours && values.dtype == KNNG_F32);
  for (int e = 0; e < sample * neighbours; ++e) {
    const int64_t row = chosen[e / neighbours], entry = row * neighbours + e % neighbours;
    const float value = (float)expected->values[e];
    if (((int64_t*)ids.data)[entry] != expected->ids[e] ||
        memcmp((float*)values.data + entry, &value, sizeof value) != 0)
      fail_msg("%s: row %lld column %d is id %lld value %a, the oracle has id %lld value %a", metric, (long long)row,
               e % neighbours, (long long)((int64_t*)ids.data)[entry], ((float*)values.data)[entry],
               (long long)expected->ids[e], value);
  }
}

/* The oracle's answer for every so many-th row of the sample. */
static oracle_graph expected_of(const metric_case* metric, int step) {
  const oracle_task task = task_of(metric);
  static double queries[sample * pixels];
  static int64_t left_out[sample];
  for (int row = 0; row < sample / step; ++row) {
    left_out[row] = chosen[row * step];
    for (int i = 0; i < pixels; ++i) queries[row * pixels + i] = asked[row * step * pixels + i];
  }
  return oracle_query(&task, images, pixels, x, sample / step, queries, left_out, neighbours);
}

static void expect_answers(const metric_case* metric, int step, const oracle_graph* expected) {
  knng_matrix q = knng_packed(KNNG_U8, sample / step, pixels, asked);
  knng_matrix left_out = knng_packed(KNNG_I64, sample / step, 1, chosen);
  q.row_stride = step * pixels;
  left_out.row_stride = step;
  q.col_stride = left_out.col_stride = 1;
  for (const engine_case* e = engines_for(metric); e->engine; ++e) {
    set_engine(h, e);
    knng_graph* answer = NULL;
    expect_ok(knng_query(h, &q, &left_out, 0, neighbours, NULL, &answer, NULL), "knng_query");
    expect_graph(answer, expected, metric->metric);
    knng_graph_destroy(answer);
  }
}

static void asked_of_a_metric(void** state) {
  const metric_case* metric = *state;
  set_metric(h, metric);
  oracle_graph expected = expected_of(metric, every_fifth);
  expect_answers(metric, every_fifth, &expected);
  oracle_graph_free(&expected);
}

static void a_metric(void** state) {
  const metric_case* metric = *state;
  set_metric(h, metric);
  set_engine(h, &(engine_case){"auto", "auto"});
  const double started = now();
  knng_graph* g = built(h, neighbours);
  const double seconds = now() - started;
  int64_t wrong = 0;
  expect_ok(knng_check(h, g, sample, NULL, &wrong, NULL), "knng_check");
  assert_int_equal(wrong, -1);
  const double before = now();
  oracle_graph expected = expected_of(metric, 1);
  const double of_oracle = now() - before;
  expect_sample(g, &expected, metric->metric);
  expect_answers(metric, 1, &expected);
  oracle_graph_free(&expected);

  char engine[32], selector[32], device[64];
  expect_ok(knng_graph_text(g, "engine", engine, sizeof engine, NULL, NULL), "engine");
  expect_ok(knng_graph_text(g, "selector", selector, sizeof selector, NULL, NULL), "selector");
  expect_ok(knng_graph_text(g, "device", device, sizeof device, NULL, NULL), "device");
  assert_true(stat_of(g, "proved") == (double)images && stat_of(g, "bound_violations") == 0);
  printf(
      "%s p=%s: built in %.1f s, %d rows compared with the oracle (%.1f s); device %s, engine %s, selector %s; "
      "proved %.0f, refined %.0f, redone %.0f in fp32 and %.0f in fp64, bound violations %.0f, ties at k %.0f\n",
      metric->metric, metric->p, seconds, sample, of_oracle, device, engine, selector, stat_of(g, "proved"),
      stat_of(g, "refined"), stat_of(g, "redone_fp32"), stat_of(g, "redone_fp64"), stat_of(g, "bound_violations"),
      stat_of(g, "ties_at_k"));
  fflush(stdout);
  knng_graph_destroy(g);
}

/* Whether an argument means the metric; minkowski alone is its default exponent. */
static int means(const char* argument, const metric_case* m) {
  if (strcmp(argument, "products") == 0) return m->product;
  if (strcmp(argument, "others") == 0) return !m->product;
  const size_t length = strcspn(argument, ":");
  return strlen(m->metric) == length && strncmp(argument, m->metric, length) == 0 &&
         strcmp(argument[length] ? argument + length + 1 : "2", m->p) == 0;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s FOLDER [t10k] METRIC...\n", argv[0]);
    return 2;
  }
  struct CMUnitTest tests[METRIC_CASES];
  size_t count = 0;
  CMUnitTestFunction test = a_metric;
  for (int i = 2; i < argc; ++i) {
    if (i == 2 && strcmp(argv[i], "t10k") == 0) {
      images = test_images;
      continue;
    }
    if (strcmp(argv[i], "asked") == 0) {
      test = asked_of_a_metric;
      continue;
    }
    const size_t before = count;
    for (int m = 0; m < METRIC_CASES && count < METRIC_CASES; ++m)
      if (means(argv[i], &metric_cases[m]))
        tests[count++] =
            (struct CMUnitTest){metric_cases[m].metric, test, NULL, NULL, (void*)(uintptr_t)&metric_cases[m]};
    if (count == before) {
      fprintf(stderr, "%s is no metric of this program\n", argv[i]);
      return 2;
    }
  }
  if (small_run()) {
    printf("skipped: a brief run\n");
    return 77;
  }
  const int status = prepare(argv[1]);
  const int failed = status ? status : _cmocka_run_group_tests("Fashion-MNIST", tests, count, NULL, NULL);
  free(x);
  knng_destroy(h);
  return failed;
}
