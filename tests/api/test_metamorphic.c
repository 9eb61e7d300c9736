/* What must not change a graph: the order of rows (but for ids), the element type, threads and tiles on larger data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static void shuffle(int64_t n, int64_t* order, uint64_t seed) {
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t i = n - 1; i > 0; --i) {
    const int64_t j = (int64_t)(random_bits(&seed) % (uint64_t)(i + 1)), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
}

/* Real-valued rows have no ties but between ranks: the graph of permuted rows is the permuted graph. */
static void permuted_rows_give_the_graph_relabelled(void** state) {
  (void)state;
  enum { n = 400, d = 24, k = 10 };
  double* x = malloc(sizeof(double) * n * d);
  uint64_t seed = 51;
  for (int64_t i = 0; i < n * d; ++i) x[i] = 0.1 + uniform(&seed);
  test_rows rows = rows_from(KNNG_F64, n, d, x);
  int64_t order[n];
  shuffle(n, order, 52);
  for (int64_t i = 0; i < n; ++i) memcpy(x + i * d, rows.x + order[i] * d, d * sizeof(double));
  test_rows permuted = rows_from(KNNG_F64, n, d, x);
  free(x);
  for (int m = 0; m < metric_count(); ++m) {
    if (strcmp(metric_cases[m].metric, "spearman") == 0) continue; /* ranks tie */
    knng *h = HANDLE(&rows, "device", "cpu"), *p = HANDLE(&permuted, "device", "cpu", "tile_rows", "33");
    set_metric(h, &metric_cases[m]);
    set_metric(p, &metric_cases[m]);
    knng_graph *a = built(h, k), *b = built(p, k);
    knng_matrix ia = knng_packed(KNNG_I64, 0, 0, NULL), va = ia, ib = ia, vb = ia;
    expect_ok(knng_graph_view(a, &ia, &va, NULL), "view");
    expect_ok(knng_graph_view(b, &ib, &vb, NULL), "view");
    if (stat_of(a, "ties_at_k") == 0)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < k; ++j) {
          const int64_t mine = ((int64_t*)ib.data)[i * k + j];
          if (order[mine] != ((int64_t*)ia.data)[order[i] * k + j] ||
              memcmp((double*)vb.data + i * k + j, (double*)va.data + order[i] * k + j, sizeof(double)) != 0)
            fail_msg("%s p=%s: row %lld column %lld changes with the order of rows", metric_cases[m].metric,
                     metric_cases[m].p, (long long)i, (long long)j);
        }
    else
      fail_msg("%s: ties in data that should have none", metric_cases[m].metric);
    knng_graph_destroy(a);
    knng_graph_destroy(b);
    knng_destroy(h);
    knng_destroy(p);
  }
  rows_free(&rows);
  rows_free(&permuted);
}

static void equal_values_in_any_type_give_one_graph(void** state) {
  (void)state;
  test_rows bytes = rows_shuttle(KNNG_U8, 500, 53);
  knng* h = HANDLE(&bytes, "device", "cpu", "value_type", "f64");
  knng_graph* reference = built(h, 15);
  char fingerprint[64];
  expect_ok(knng_graph_text(reference, "fingerprint", fingerprint, sizeof fingerprint, NULL, NULL), "fingerprint");
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows rows = rows_from(row_dtypes[t], bytes.n, bytes.d, bytes.x);
    knng* other = HANDLE(&rows, "device", "cpu", "value_type", "f64");
    knng_graph* g = built(other, 15);
    if (memcmp(rows.x, bytes.x, (size_t)(bytes.n * bytes.d) * sizeof(double)) == 0) {
      expect_same_graph(reference, g, dtype_label(row_dtypes[t]));
      char text[64];
      expect_ok(knng_graph_text(g, "fingerprint", text, sizeof text, NULL, NULL), "fingerprint");
      assert_string_equal(text, fingerprint);
    } else {
      const int32_t dtype = row_dtypes[t]; /* 8 bits do not hold 0 to 255 */
      assert_true(dtype == KNNG_BF16 || dtype == KNNG_I8 || dtype == KNNG_BOOL);
    }
    knng_graph_destroy(g);
    knng_destroy(other);
    rows_free(&rows);
  }
  knng_graph_destroy(reference);
  knng_destroy(h);
  rows_free(&bytes);
}

/* The first of them that differ by one where single precision has no more room. */
static void wide_integers_have_the_fingerprint_of_doubles(void** state) {
  (void)state;
  static const int32_t types[] = {KNNG_I64, KNNG_U64, KNNG_F64};
  static const double x[] = {0x1p53, 0x1p53 - 1, 0x1p24 + 1, 0x1p24, 0x1p32 + 1, 0x1p32, 0, 1};
  char first[64], text[64];
  for (int t = 0; t < 3; ++t) {
    test_rows rows = rows_from(types[t], 8, 1, x);
    knng* h = HANDLE(&rows, "device", "cpu", "value_type", "f64");
    knng_graph* g = built(h, 2);
    assert_true(stat_of(g, "duplicates") == 0);
    expect_ok(knng_graph_text(g, "fingerprint", t ? text : first, sizeof text, NULL, NULL), "fingerprint");
    if (t) assert_string_equal(text, first);
    const oracle_task task = {"euclidean", 2, 0, 0};
    oracle_graph expected = oracle_build(&task, 8, 1, rows.x, 2);
    expect_graph(g, &expected, dtype_label(types[t]));
    oracle_graph_free(&expected);
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
}

static void fingerprints_tell_data_apart(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 40, 5, 54);
  char a[64], b[64];
  for (int change = 0; change < 3; ++change) {
    test_rows other = rows_from(KNNG_F32, 40, 5, rows.x);
    float* x = other.data;
    if (change == 1) x[199] += 0.5f;
    if (change == 2) { /* two rows swapped */
      float row[5];
      memcpy(row, x, sizeof row);
      memmove(x, x + 5, sizeof row);
      memcpy(x + 5, row, sizeof row);
    }
    knng* h = HANDLE(&other, "device", "cpu");
    knng_graph* g = built(h, 3);
    expect_ok(knng_graph_text(g, "fingerprint", change ? b : a, sizeof a, NULL, NULL), "fingerprint");
    if (change) assert_string_not_equal(a, b);
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&other);
  }
  rows_free(&rows);
}

static void threads_and_tiles_change_nothing(void** state) {
  (void)state;
  const int64_t n = small_run() ? 300 : 3000;
  test_rows rows = rows_shuttle(KNNG_F32, n, 55);
  static const char* const settings[][3] = {{"1", "0", "0"},     {"2", "0", "0"},     {"4", "0", "0"},
                                            {"16", "0", "0"},    {"4", "1000", "13"}, {"4", "13", "1000"},
                                            {"3", "64", "64"},   {"2", "0", "0"},     {"16", "0", "0"},
                                            {"4", "1000", "13"}, {"4", "13", "1000"}, {"3", "64", "64"}};
  static const engine_case engines[] = {{"auto", "auto"},       {"direct", "auto"},      {"fused", "auto"},
                                        {"tiled", "insertion"}, {"tiled", "batch_sort"}, {"tiled", "quick"}};
  static const metric_case metrics[] = {{"euclidean", "2", 1}, {"spearman", "2", 1}, {"minkowski", "1.5", 0}};
  for (int m = 0; m < 3; ++m) {
    knng_graph* reference = NULL;
    for (size_t s = 0; s < sizeof settings / sizeof *settings; ++s) {
      knng* h = HANDLE(&rows, "device", "cpu", "threads", settings[s][0], "tile_rows", settings[s][1], "tile_cols",
                       settings[s][2]);
      set_metric(h, &metrics[m]);
      const engine_case* e = &engines[s ? 1 + s % 5 : 0];
      set_engine(h, e->engine[0] == 'f' && !metrics[m].product ? &engines[0] : e);
      knng_graph* g = built(h, 20);
      if (reference) {
        expect_same_graph(reference, g, metrics[m].metric);
        assert_true(stat_of(reference, "ties_at_k") == stat_of(g, "ties_at_k"));
        knng_graph_destroy(g);
      } else {
        reference = g;
      }
      knng_destroy(h);
    }
    knng_graph_destroy(reference);
  }
  rows_free(&rows);
}

/* The same build again and again, with threads racing differently each time. */
static void repetition_changes_nothing(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_U8, 500, 3, 4, 56);
  knng* h = HANDLE(&rows, "device", "cpu", "threads", "4", "tile_rows", "8", "tile_cols", "8");
  static const engine_case engines[] = {
      {"fused", "auto"}, {"direct", "auto"}, {"tiled", "insertion"}, {"tiled", "batch_sort"}, {"tiled", "quick"}};
  knng_graph* reference = built(h, 10);
  for (int i = 0; i < (small_run() ? 10 : 80); ++i) {
    set_engine(h, &engines[i % 5]);
    knng_graph* g = built(h, 10);
    expect_same_graph(reference, g, "repeated");
    knng_graph_destroy(g);
  }
  knng_graph_destroy(reference);
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(permuted_rows_give_the_graph_relabelled),
      cmocka_unit_test(equal_values_in_any_type_give_one_graph),
      cmocka_unit_test(wide_integers_have_the_fingerprint_of_doubles),
      cmocka_unit_test(fingerprints_tell_data_apart),
      cmocka_unit_test(threads_and_tiles_change_nothing),
      cmocka_unit_test(repetition_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
