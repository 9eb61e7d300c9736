/* Fashion-MNIST, 70,000 x 784 bytes: every product metric on 500 rows against the oracle, by query with the row itself
 * left out, which is what a build returns for those rows; and builds of the 10,000 test images, 500 rows checked by
 * knng_check and by the oracle; and all rows under every engine and selector, once, for sqeuclidean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

#define FOLDER "/usr/share/datasets/fashion-mnist/"
enum { pixels = 784, sample = 500, neighbours = 10 };

static knng* images(int all) {
  knng* h = HANDLE(NULL, "device", "cpu");
  if (all) expect_ok(knng_add_file(h, FOLDER "train-images-idx3-ubyte.gz", NULL), "training images");
  expect_ok(knng_add_file(h, FOLDER "t10k-images-idx3-ubyte.gz", NULL), "test images");
  return h;
}

static double* values_of(const knng* h, int64_t* n) {
  expect_ok(knng_shape(h, n, NULL, NULL), "knng_shape");
  double* x = malloc((size_t)*n * pixels * sizeof(double));
  assert_non_null(x);
  knng_matrix m = knng_host(KNNG_F64, *n, pixels, x);
  expect_ok(knng_read(h, 0, &m), "knng_read");
  return x;
}

/* Spread over all rows: training and test images. */
static int64_t sampled(int64_t i, int64_t n, int count) { return i * (n - 1) / (count - 1); }

static void five_hundred_rows_of_seventy_thousand(void** state) {
  (void)state;
  knng* h = images(1);
  int64_t n = 0;
  double* x = values_of(h, &n);
  assert_int_equal(n, 70000);
  for (int m = 0; m < METRIC_CASES; ++m) {
    const metric_case* metric = &metric_cases[m];
    if (!metric->product) continue;
    set_metric(h, metric);
    static double queries[sample * pixels];
    static unsigned char bytes[sample * pixels];
    int64_t own[sample];
    for (int64_t i = 0; i < sample; ++i) {
      own[i] = sampled(i, n, sample);
      memcpy(queries + i * pixels, x + own[i] * pixels, pixels * sizeof(double));
    }
    for (int i = 0; i < sample * pixels; ++i) bytes[i] = (unsigned char)queries[i];
    const oracle_task task = task_of(metric);
    oracle_graph expected = oracle_query(&task, n, pixels, x, sample, queries, own, neighbours);
    const knng_matrix q = knng_host(KNNG_U8, sample, pixels, bytes);
    for (const engine_case* e = engines_for(metric); e->engine; ++e) {
      set_engine(h, e);
      knng_graph* g = NULL;
      expect_ok(knng_query(h, &q, own, neighbours, NULL, &g), "knng_query");
      expect_graph(g, &expected, metric->metric);
      knng_graph_destroy(g);
    }
    oracle_graph_free(&expected);
  }
  free(x);
  knng_destroy(h);
}

static void builds_of_ten_thousand(void** state) {
  (void)state;
  knng* h = images(0);
  int64_t n = 0;
  double* x = values_of(h, &n);
  assert_int_equal(n, 10000);
  for (int m = 0; m < METRIC_CASES; ++m) {
    const metric_case* metric = &metric_cases[m];
    if (!metric->product) continue;
    set_metric(h, metric);
    const oracle_task task = task_of(metric);
    knng_graph* g = built(h, neighbours);
    int64_t wrong = 0;
    expect_ok(knng_check(h, g, sample, NULL, &wrong), "knng_check");
    assert_int_equal(wrong, -1);
    knng_matrix ids = knng_host(KNNG_I64, 0, 0, NULL), values = ids;
    expect_ok(knng_graph_view(g, &ids, &values), "view");
    int64_t own[sample];
    double* queries = malloc(sizeof(double) * sample * pixels);
    for (int s = 0; s < sample; ++s) {
      own[s] = sampled(s, n, sample);
      memcpy(queries + s * pixels, x + own[s] * pixels, pixels * sizeof(double));
    }
    oracle_graph expected = oracle_query(&task, n, pixels, x, sample, queries, own, neighbours);
    for (int e = 0; e < sample * neighbours; ++e) {
      const int64_t entry = own[e / neighbours] * neighbours + e % neighbours;
      const float value = (float)expected.values[e];
      if (((int64_t*)ids.data)[entry] != expected.ids[e] ||
          memcmp((float*)values.data + entry, &value, sizeof value) != 0)
        fail_msg("%s: row %lld column %d differs from the oracle", metric->metric, (long long)own[e / neighbours],
                 e % neighbours);
    }
    oracle_graph_free(&expected);
    free(queries);
    knng_graph_destroy(g);
  }
  free(x);
  knng_destroy(h);
}

/* All rows and columns of all 70,000: engines that share no arithmetic and no selection. */
static void whole_builds_are_the_same(void** state) {
  (void)state;
  knng* h = images(1);
  set_metric(h, &(metric_case){"sqeuclidean", "2", 1});
  knng_graph* reference = NULL;
  for (const engine_case* e = engines_for(&metric_cases[0]); e->engine; ++e) {
    set_engine(h, e);
    knng_graph* g = built(h, neighbours);
    assert_true(stat_of(g, "proved") == 70000 && stat_of(g, "bound_violations") == 0);
    char selector[32];
    expect_ok(knng_graph_text(g, "selector", selector, sizeof selector, NULL), "selector");
    assert_string_equal(selector, strcmp(e->engine, "tiled") == 0 ? e->selector : "none");
    if (!reference) {
      reference = g;
      continue;
    }
    expect_same_graph(reference, g, e->selector);
    knng_graph_destroy(g);
  }
  knng_graph_destroy(reference);
  knng_destroy(h);
}

int main(void) {
  FILE* data = fopen(FOLDER "train-images-idx3-ubyte.gz", "rb");
  if (!data || small_run()) {
    printf("skipped: %s\n", data ? "a brief run" : "no Fashion-MNIST (package dataset-fashion-mnist)");
    if (data) fclose(data);
    return 77;
  }
  fclose(data);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(five_hundred_rows_of_seventy_thousand),
      cmocka_unit_test(builds_of_ten_thousand),
      cmocka_unit_test(whole_builds_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
