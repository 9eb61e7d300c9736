/* Rows in memory of devices that equal others: those of one device are compared there, where it is
 * also found whether they have a direction; the host gets what is compared with rows elsewhere. Simulated devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/device_memory.h"

/* The rows come in four parts: the first are different; of the second a quarter equals one of the first, the others
 * differ in the first or the last value; the third and the fourth are the first again. */
enum { part_rows = 16, parts = 4, n = parts * part_rows };
static const int64_t equal_in[parts] = {0, part_rows / 4, part_rows, part_rows};

/* Zeros of later parts are -0, where there is one. Row 0 is 0, row 3 is constant. */
static test_rows rows_in_parts(int32_t dtype, int64_t d) {
  double* x = malloc((size_t)(n * d) * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t r = i % part_rows, part = i / part_rows;
    for (int64_t t = 0; t < d; ++t) {
      double value = r == 0 || r == 3 ? (double)r : (double)((r + t) % part_rows);
      if (part == 1 && r % 4 == 2 && t == 0) value += 40;
      if (part == 1 && r % 2 == 1 && t == d - 1) value += 20;
      x[i * d + t] = part > 0 && value == 0 ? -0.0 : value;
    }
  }
  test_rows rows = rows_from(dtype, n, d, x);
  free(x);
  return rows;
}

/* Where the parts are: on the host (-1) or a device. */
static const int ways[][parts] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 1, -1}, {-1, 0, 1, 1}, {1, 0, 0, 1}};
enum { WAYS = sizeof ways / sizeof *ways };

typedef struct lent_rows {
  device_rows part[parts];
  knng* h;
} lent_rows;

static lent_rows lend(const test_rows* rows, const int* way, const char* set) {
  lent_rows lent = {.h = HANDLE(NULL, "device", set)};
  const int64_t size = dtype_size(rows->dtype);
  for (int p = 0; p < parts; ++p) {
    test_rows part = *rows;
    part.n = part_rows;
    part.data = (char*)rows->data + p * part_rows * rows->d * size;
    const layout l = layout_of(p + 1, part.n, part.d);
    const knng_matrix host = matrix_of(&part);
    if (way[p] >= 0) lent.part[p] = on_device(&part, p % 2 ? KNNG_MANAGED : KNNG_CUDA, way[p], &l, 0);
    expect_ok(knng_borrow(lent.h, way[p] >= 0 ? &lent.part[p].m : &host, NULL, NULL), "a part");
  }
  return lent;
}

static void take_back(lent_rows* lent) {
  knng_destroy(lent->h);
  for (int p = 0; p < parts; ++p)
    if (lent->part[p].block) fake_release(lent->part[p].block);
}

static const metric_case metrics[] = {
    {"sqeuclidean", "2", 1}, {"cosine", "2", 1}, {"correlation", "2", 1}, {"spearman", "2", 1}};

static void rows_of_one_device_are_compared_there(void** state) {
  (void)state;
  static const int64_t dims[] = {1, 7, 40};
  for (int t = 0; t < ROW_DTYPES; ++t)
    for (int dim = 0; dim < 3; ++dim) {
      if (row_dtypes[t] == KNNG_BOOL) continue; /* more rows would be equal than are meant to be */
      test_rows rows = rows_in_parts(row_dtypes[t], dims[dim]);
      for (int m = 0; m < 4; ++m) {
        const question q = question_of(&rows, &metrics[m], 5);
        knng_graph* expected = graph_of_cpu(&q);
        assert_true(stat_of(expected, "duplicates") == part_rows / 4 + 2 * part_rows);
        for (int w = 0; w < WAYS; ++w)
          for (const char* const* set = device_sets(); *set; ++set) {
            if (small_run() && (t + dim + m + w) % 4 != set - device_sets()) continue;
            const int* const way = ways[w];
            lent_rows lent = lend(&rows, way, *set);
            set_metric(lent.h, &q.metric);
            int64_t compared = fake_count("compared", 0), fetched = fake_count("fetched", 0);
            const int64_t judged = fake_count("judged", 0);
            knng_graph* g = built(lent.h, q.k);
            char label[120];
            snprintf(label, sizeof label, "%s x %d, %s, way %d on %s", dtype_label(rows.dtype), (int)rows.d,
                     q.metric.metric, w, *set);
            expect_as_from_memory(expected, g, label);
            for (int p = 1; p < parts; ++p) {
              if (way[p] == way[0] && way[0] >= 0)
                compared += equal_in[p];
              else
                fetched += equal_in[p] * ((way[p] >= 0) + (way[0] >= 0));
            }
            assert_int_equal(fake_count("compared", 0), compared);
            assert_int_equal(fake_count("fetched", 0), fetched);
            assert_int_equal(fake_count("judged", 0) - judged, m > 0 && way[0] >= 0 ? part_rows : 0);
            knng_graph_destroy(g);
            take_back(&lent);
          }
        knng_graph_destroy(expected);
      }
      rows_free(&rows);
    }
}

/* Equal hashes say nothing yet. */
static void rows_of_one_hash_are_told_apart(void** state) {
  (void)state;
  test_rows rows = rows_in_parts(KNNG_F16, 7);
  const question q = question_of(&rows, &metrics[0], 5);
  knng_graph* expected = graph_of_cpu(&q);
  for (int w = 0; w < WAYS; ++w) {
    const int* const way = ways[w];
    if (way[0] < 0 || way[3] < 0) continue; /* the host's hashes are others */
    devices_behave("0:coarse_hashes;1:coarse_hashes");
    lent_rows lent = lend(&rows, way, "cuda:0,1");
    set_metric(lent.h, &q.metric);
    const int64_t compared = fake_count("compared", 0), fetched = fake_count("fetched", 0);
    knng_graph* g = built(lent.h, q.k);
    expect_same(expected, g, "coarse hashes");
    assert_true(stat_of(g, "duplicates") == stat_of(expected, "duplicates"));
    assert_true(fake_count("compared", 0) - compared > part_rows / 4 + part_rows);
    if (way[0] == way[1]) assert_int_equal(fake_count("fetched", 0), fetched);
    knng_graph_destroy(g);
    take_back(&lent);
  }
  knng_graph_destroy(expected);
  rows_free(&rows);
}

/* What a device has no memory to compare comes to the host. */
static void a_device_without_memory_is_helped(void** state) {
  (void)state;
  test_rows rows = rows_in_parts(KNNG_F32, 7);
  const question q = question_of(&rows, &metric_cases[1], 5);
  knng_graph* expected = graph_of_cpu(&q);
  lent_rows lent = lend(&rows, ways[1], "cuda:0");
  set_metric(lent.h, &q.metric);
  devices_behave("0:no_memory_to_compare;1:no_memory_to_compare");
  const int64_t fetched = fake_count("fetched", 0), compared = fake_count("compared", 0);
  knng_graph* g = built(lent.h, 5);
  expect_same(expected, g, "no memory to compare");
  assert_true(stat_of(g, "duplicates") == stat_of(expected, "duplicates") && stat_of(g, "duplicates") > 0);
  assert_true(fake_count("fetched", 0) > fetched && fake_count("compared", 0) == compared);
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  take_back(&lent);
  rows_free(&rows);
}

static void a_device_that_cannot_compare_is_told_of(void** state) {
  (void)state;
  test_rows rows = rows_in_parts(KNNG_F32, 7);
  lent_rows lent = lend(&rows, ways[1], "cuda:0");
  devices_behave("1:fails_to_compare");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(lent.h, 5, NULL, &g, &reported), KNNG_ERR_DEVICE, "rows", "injected failure");
  assert_null(g);
  devices_behave("");
  g = built(lent.h, 5);
  knng_graph_destroy(g);
  take_back(&lent);
  rows_free(&rows);
}

int main(void) {
  if (!find_fake_memory()) return 1;
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(rows_of_one_device_are_compared_there),
      DEVICE_TEST(rows_of_one_hash_are_told_apart),
      DEVICE_TEST(a_device_without_memory_is_helped),
      DEVICE_TEST(a_device_that_cannot_compare_is_told_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
