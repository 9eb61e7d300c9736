/* graph=device where many rows equal others: the graph of the distinct rows stays on the device, which puts the others
 * back; ids, bits and ties are the CPU's, lists do not come to the host, and memory is as planned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

enum { N = 160, D = 12 };

/* Rows, of which `groups` are distinct, in an order of their own. */
typedef enum kind { various, grid, parallel } kind;
static test_rows copies(int64_t n, int64_t groups, kind base, uint64_t seed) {
  double* x = malloc((size_t)(n * D) * sizeof *x);
  int64_t* of = malloc((size_t)n * sizeof *of);
  assert_true(x && of);
  for (int64_t i = 0; i < n; ++i) of[i] = i < groups ? i : (int64_t)(random_bits(&seed) % (uint64_t)groups);
  for (int64_t i = n - 1; i > 0; --i) {
    const int64_t j = (int64_t)(random_bits(&seed) % (uint64_t)(i + 1)), row = of[i];
    of[i] = of[j];
    of[j] = row;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t t = 0; t < D; ++t) {
      uint64_t own = (uint64_t)((base == parallel ? of[i] / 4 : of[i]) * D + t);
      const double value = roughly_normal(&own);
      /* In a grid most keys are equal; of parallel rows some are at key 0 from each other, others have no direction. */
      x[i * D + t] = base == grid       ? (double)(of[i] >> (t < 9 ? t : 0) & 1)
                     : base == parallel ? (of[i] % 9 == 0 ? 0 : value * (double)(1 << of[i] % 4))
                                        : value;
    }
  const test_rows rows = rows_from(KNNG_F32, n, D, x);
  free(x);
  free(of);
  return rows;
}

static knng* handle_of(const question* q, const char* device) {
  knng* h = handle_for(q, device, engine_for_many(q), "auto", "0");
  expect_ok(knng_set(h, "graph", "device", NULL), "graph");
  return h;
}

/* A graph that is kept on a device: what the CPU has. */
static void expect_kept(const knng_graph* expected, const knng_graph* g, const char* label) {
  knng_matrix a = {.struct_size = sizeof a}, b = a, ids = a, values = a;
  expect_ok(knng_graph_view(expected, &a, &b, NULL), "view");
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  if (ids.space != KNNG_CUDA || values.space != KNNG_CUDA) fail_msg("%s: it is not on a device", label);
  if (ids.cols != a.cols || values.dtype != b.dtype) fail_msg("%s: another shape", label);
  const size_t entries = (size_t)(a.rows * a.cols), bytes = entries * (b.dtype == KNNG_F64 ? 8 : 4);
  int64_t* const own_ids = malloc(entries * 8);
  void* const own_values = malloc(bytes);
  assert_true(own_ids && own_values);
  ids = knng_packed(KNNG_I64, a.rows, a.cols, own_ids);
  values = knng_packed(b.dtype, b.rows, b.cols, own_values);
  expect_ok(knng_graph_copy(g, 0, &ids, &values, NULL), label);
  for (size_t e = 0; e < entries; ++e)
    if (own_ids[e] != ((const int64_t*)a.data)[e])
      fail_msg("%s: row %lld entry %lld is %lld instead of %lld", label, (long long)e / a.cols, (long long)e % a.cols,
               (long long)own_ids[e], (long long)((const int64_t*)a.data)[e]);
  if (memcmp(own_values, b.data, bytes) != 0) fail_msg("%s: other values", label);
  free(own_ids);
  free(own_values);
  unsigned char *ties = rows_of(expected, "ties"), *own_ties = rows_of(g, "ties"), *proof = rows_of(g, "proof");
  for (int64_t i = 0; i < a.rows; ++i) {
    if (ties[i] != own_ties[i]) fail_msg("%s: row %lld has ties %d", label, (long long)i, own_ties[i]);
    if (proof[i] < 1 || proof[i] > 4) fail_msg("%s: row %lld has proof %d", label, (long long)i, proof[i]);
  }
  free(ties);
  free(own_ties);
  free(proof);
  assert_true(stat_of(g, "ties_at_k") == stat_of(expected, "ties_at_k"));
  assert_true(stat_of(g, "duplicates") == stat_of(expected, "duplicates"));
}

/* Distinct rows that were compared, as the number of pairs tells. */
static int64_t compared(const knng_graph* g) {
  int64_t rows = 1;
  while ((double)rows * (double)(rows - 1) / 2 < stat_of(g, "pairs")) ++rows;
  return rows;
}

/* On every set of devices. Result: how many rows were compared. */
static int64_t check_kept(const question* q, const char* what) {
  knng_graph* expected = graph_of_cpu(q);
  int64_t rows = 0;
  for (const char* const* set = device_sets(); *set; ++set) {
    char label[200];
    snprintf(label, sizeof label, "%s: %s p=%s k=%lld self=%s value=%s value_type=%s device=%s", what, q->metric.metric,
             q->metric.p, (long long)q->k, q->self, q->value, q->value_type, *set);
    knng* h = handle_of(q, *set);
    const knng_plan plan = planned(h, 0, q->k);
    const int64_t fetched = fake_devices ? fake_count("fetched", 0) : 0;
    knng_graph* g = built(h, q->k);
    if (fake_devices) assert_int_equal(fake_count("fetched", 0), fetched);
    rows = compared(g);
    const double width = (double)q->k + (q->self[0] == 'f'), value = q->value_type[2] == '4' ? 8 : 4;
    const double kept = (double)q->rows->n * width * (8 + value), peak = stat_of(g, "bytes_device_peak");
    /* Both graphs are there together. */
    const double listed = (double)(q->k + 1 < rows - 1 ? q->k + 1 : rows - 1);
    assert_true(peak >= kept + (rows < q->rows->n ? (double)rows * listed * 16 : 0));
    assert_true(peak <= (double)plan.device_bytes);
    assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.host_bytes);
    if (fake_devices && q->k >= 40) assert_true(stat_of(g, "bytes_host_peak") < kept / 2);
    expect_kept(expected, g, label);
    knng_graph_destroy(g);
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
  return rows;
}

static int is_named(const metric_case* m, const char* name) { return strcmp(m->metric, name) == 0; }

static void shares_of_duplicates(void** state) {
  (void)state;
  const int64_t groups[] = {N - N / 8 + 1, N - N / 8, N / 2, N / 5, 6, 2, 1};
  const int64_t ks[] = {1, 6, 40, N - 1};
  for (size_t s = 0; s < sizeof groups / sizeof *groups; ++s)
    for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i) {
      test_rows rows = copies(N, groups[s], various, 501 + s);
      for (int m = 0; m < 2; ++m) {
        question q = question_of(&rows, &metric_cases[m ? 7 : 1], ks[i]);
        if ((s + i) % 2) q.self = "first";
        if ((s + i) % 3 == 1) q.value_type = "f64";
        const int64_t rows_compared = check_kept(&q, "share");
        /* An eighth pays; lists of all rows take a GPU more than its plan may have. */
        if (fake_devices || ks[i] <= 40) assert_int_equal(rows_compared, s == 0 ? N : groups[s]);
      }
      rows_free(&rows);
    }
}

/* Runs of groups at one key, of which some members are among the nearest and some are not. */
static void keys_that_are_equal(void** state) {
  (void)state;
  const int64_t groups[] = {20, 70, 130}, ks[] = {1, 3, 7, 25, 60, 150};
  for (size_t s = 0; s < sizeof groups / sizeof *groups; ++s) {
    test_rows rows = copies(N, groups[s], grid, 511 + s);
    for (int m = 0; m < device_metric_count(); ++m) {
      const metric_case* metric = &metric_cases[m];
      if (metric->product && m > 1 && !is_named(metric, "cosine")) continue;
      if (!metric_takes(metric, &rows)) continue;
      for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i) {
        if (m > 1 && (i + s + (size_t)m) % 3 != 0) continue;
        question q = question_of(&rows, metric, ks[i]);
        if ((i + s) % 2) q.self = "first";
        if ((i + (size_t)m) % 2) q.value_type = "f64";
        check_kept(&q, "grid");
      }
    }
    rows_free(&rows);
  }
}

/* Distinct rows at key 0 from each other, and equal ones at key 1. */
static void rows_with_directions(void** state) {
  (void)state;
  const int64_t groups[] = {40, 120}, ks[] = {2, 13, 28, 41};
  for (size_t s = 0; s < sizeof groups / sizeof *groups; ++s) {
    test_rows rows = copies(N, groups[s], parallel, 521 + s);
    for (int m = 0; m < METRIC_CASES; ++m) {
      if (!has_similarity(&metric_cases[m]) && m != 1) continue;
      for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i) {
        question q = question_of(&rows, &metric_cases[m], ks[i]);
        if (i % 2) q.self = "first";
        if (i / 2) q.value_type = "f64";
        check_kept(&q, "parallel");
        if (!has_similarity(&metric_cases[m])) continue;
        q.value = "similarity";
        check_kept(&q, "parallel");
      }
    }
    rows_free(&rows);
  }
}

/* Whatever the limit: within it, and the same graph. */
static void memory_is_limited(void** state) {
  (void)state;
  test_rows rows = copies(600, 400, various, 531);
  const question q = question_of(&rows, &metric_cases[0], 30);
  knng_graph* expected = graph_of_cpu(&q);
  knng* h = handle_of(&q, "cuda:0");
  const knng_plan plan = planned(h, 0, q.k);
  int without = 0, with = 0;
  for (int step = 0; step <= 8; ++step) {
    const int64_t more = plan.device_bytes - plan.smallest_device;
    set_bytes(h, "max_device_bytes", plan.smallest_device + more * step / 8);
    knng_graph* g = built(h, q.k);
    assert_true(stat_of(g, "bytes_device_peak") <= (double)(plan.smallest_device + more * step / 8));
    expect_kept(expected, g, "limited");
    *(compared(g) == 600 ? &without : &with) += 1;
    knng_graph_destroy(g);
  }
  assert_true(with > 0 && without + with == 9);
  set_bytes(h, "max_host_bytes", planned(h, 0, q.k).smallest_host);
  knng_graph* g = built(h, q.k);
  expect_kept(expected, g, "limited on the host");
  knng_graph_destroy(g);
  knng_destroy(h);
  knng_graph_destroy(expected);
  rows_free(&rows);
}

static void values_that_do_not_fit(void** state) {
  (void)state;
  double x[40 * 2] = {0};
  for (int i = 0; i < 40; ++i) x[2 * i] = i / 2 == 17 ? 1e60 : i / 2;
  test_rows rows = rows_from(KNNG_F64, 40, 2, x);
  question q = question_of(&rows, &metric_cases[1], 3);
  q.value_type = "f32";
  knng_error expected;
  assert_null(answer_of_cpu(&q, &expected));
  knng* h = handle_of(&q, "cuda:0");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_RANGE, "neighbour", "value_type=f64");
  const knng_error e = reported;
  assert_true(e.row == expected.row && e.col == expected.col);
  knng_destroy(h);
  rows_free(&rows);
}

/* Devices that are none fail at it and are stopped at it. */
static void failures_leave_nothing(void** state) {
  (void)state;
  if (!fake_devices) skip();
  for (int64_t groups = 1; groups < 90; groups += 80) {
    test_rows rows = copies(N, groups, various, 541);
    question q = question_of(&rows, &metric_cases[1], 6);
    knng* h = handle_of(&q, "cuda:1,0");
    knng_graph* g = NULL;
    devices_behave("1:fails_at_expand=1");
    EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_DEVICE, "cuda:1", "injected failure");
    assert_int_equal(fake_count("bytes", 0), 0);
    /* Without room for two graphs all rows are compared. */
    devices_behave("1:out_of_memory_at_expand=1");
    knng_graph* expected = graph_of_cpu(&q);
    g = built(h, 6);
    expect_kept(expected, g, "no room for two graphs");
    knng_graph_destroy(g);
    knng_graph_destroy(expected);
    g = NULL;
    assert_int_equal(fake_count("bytes", 0), 0);
    devices_behave("1:no_memory_for_lists");
    EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_MEMORY, "graph", "injected lack of memory");
    assert_int_equal(fake_count("bytes", 0), 0);
    volatile int32_t stop = 0;
    const knng_control c = {sizeof(knng_control), 0, NULL, NULL, NULL, &stop, 0};
    fake_stop(&stop);
    devices_behave("1:stop_comes_at_expand=1");
    EXPECT_ERROR(knng_build(h, 6, &c, &g, &reported), KNNG_ERR_CANCELLED, "stopped");
    fake_stop(NULL);
    devices_behave("");
    assert_null(g);
    assert_int_equal(fake_count("bytes", 0), 0);
    knng_destroy(h);
    rows_free(&rows);
  }
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(shares_of_duplicates), DEVICE_TEST(keys_that_are_equal),    DEVICE_TEST(rows_with_directions),
      DEVICE_TEST(memory_is_limited),    DEVICE_TEST(values_that_do_not_fit), DEVICE_TEST(failures_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
