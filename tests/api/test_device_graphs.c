/* graph=device: the lists of a graph stay on the device that made them, to be viewed and copied there, and come to the
 * host when something reads them there. On simulated devices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/device_memory.h"

/* What a device keeps, read where it is. */
static void expect_kept(const knng_graph* expected, const knng_graph* g, int32_t device) {
  knng_matrix a = {.struct_size = sizeof a}, b = a, ids = a, values = a;
  expect_ok(knng_graph_view(expected, &a, &b, NULL), "view");
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  assert_true(ids.space == KNNG_CUDA && values.space == KNNG_CUDA && ids.device == device && values.device == device);
  assert_true(ids.dtype == KNNG_I64 && values.dtype == b.dtype && ids.rows == a.rows && values.cols == b.cols);
  assert_true(ids.row_stride == ids.cols && values.row_stride == ids.cols && ids.col_stride == 1);
  device_rows r = {ids, NULL};
  expect_written(&r, a.data, 8);
  r.m = values;
  expect_written(&r, b.data, b.dtype == KNNG_F64 ? 8 : 4);
}

static void graphs_are_kept_on_a_device(void** state) {
  (void)state;
  for (int low = 0; low < 2; ++low) { /* in few dimensions rows are answered without tiles */
    test_rows rows = low ? rows_normal(KNNG_F32, 150, 3, 412) : heaps(400, 10),
              queries = rows_normal(KNNG_F32, 31, rows.d, 413);
    for (int s = 0; s < 8; ++s) {
      question q = question_of(&rows, &metric_cases[s == 7 ? 7 : 1], 6);
      if (s & 1) q.self = "first";
      if (s & 2) q.value_type = "f64";
      if (s & 4) q.queries = &queries;
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      for (const char* const* set = device_sets(); *set; ++set) {
        knng* h = handle_for(&q, *set, engine_for_many(&q), "auto", "0");
        expect_ok(knng_set(h, "graph", "device", NULL), "graph");
        const int64_t fetched = fake_count("fetched", 0);
        expect_ok(answer(h, &q, NULL, &g), *set);
        const int32_t device = strcmp(*set, "cuda:1,0") == 0;
        expect_kept(expected, g, device);
        assert_int_equal(fake_count("fetched", 0), fetched);
        assert_true(fake_count("bytes", 0) == (int64_t)stat_of(g, "rows") * (q.k + (q.self[0] == 'f' && !q.queries)) *
                                                  (q.value_type[0] == 'f' ? 16 : 12));
        unsigned char* proof = rows_of(g, "proof");
        assert_true(proof[0] >= 1);
        free(proof);
        assert_int_equal(fake_count("fetched", 0), fetched);
        knng_destroy(h); /* the graph does not need it */
        knng_graph_destroy(g);
        assert_int_equal(fake_count("bytes", 0), 0);
      }
      knng_graph_destroy(expected);
    }
    rows_free(&rows);
    rows_free(&queries);
  }
}

/* Lists that are there in slices (test_device_budgets.c) are kept as others are. */
static void slices_are_kept(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 5, 416);
  for (int s = 0; s < 4; ++s) {
    question q = question_of(&rows, &metric_cases[s < 2 ? 1 : 0], 21);
    if (s & 1) q.self = "first";
    if (s & 2) q.value_type = "f64";
    knng_graph* expected = graph_of_cpu(&q);
    for (const char* const* set = device_sets(); *set; ++set) {
      knng* h = handle_for(&q, *set, "tiled", "auto", "0");
      expect_ok(knng_set(h, "graph", "device", NULL), "graph");
      give_least_memory(h, 0, q.k, 1);
      const knng_plan plan = planned(h, 0, q.k);
      knng_graph* g = built(h, q.k);
      expect_kept(expected, g, strcmp(*set, "cuda:1,0") == 0);
      assert_true(stat_of(g, "tiles") == (double)plan.tiles);
      assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
      knng_graph_destroy(g);
      knng_destroy(h);
    }
    knng_graph_destroy(expected);
  }
  rows_free(&rows);
}

/* Of a graph that is kept, too, they are left out first. */
static void equal_rows_are_put_back_there(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 200, 6, 2, 415);
  question q = question_of(&rows, &metric_cases[1], 6);
  q.self = "first";
  knng_graph* expected = graph_of_cpu(&q);
  device_rows there = packed_on_device(&rows, 0);
  const knng_matrix here = matrix_of(&rows);
  for (const char* const* set = device_sets(); *set; ++set)
    for (int i = 0; i < 2; ++i) {
      knng* h = HANDLE(NULL, "device", *set, "graph", "device", "self", "first");
      set_metric(h, &q.metric);
      expect_ok(knng_borrow(h, i ? &here : &there.m, NULL, NULL), "knng_borrow");
      const knng_plan plan = planned(h, 0, 6);
      knng_graph* g = built(h, 6);
      expect_kept(expected, g, strcmp(*set, "cuda:1,0") == 0);
      assert_true(stat_of(g, "pairs") < 200 * 199 / 2 && stat_of(g, "duplicates") == stat_of(expected, "duplicates"));
      assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.host_bytes);
      assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
      knng_graph_destroy(g);
      /* All rows are compared where there is no room for lists on the host. */
      set_bytes(h, "max_host_bytes", plan.smallest_host);
      g = built(h, 6);
      expect_kept(expected, g, strcmp(*set, "cuda:1,0") == 0);
      assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.smallest_host);
      knng_graph_destroy(g);
      knng_destroy(h);
    }
  devices_behave("0:no_memory_for_lists");
  knng* h = HANDLE(&rows, "device", "cuda:0", "graph", "device");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_MEMORY, "injected lack of memory", "");
  knng_destroy(h);
  fake_release(there.block);
  knng_graph_destroy(expected);
  rows_free(&rows);
}

static void kept_graphs_are_copied_and_read(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 120, 10, 414);
  const question q = question_of(&rows, &metric_cases[1], 6);
  knng_graph *expected = graph_of_cpu(&q), *g = NULL;
  device_rows r = packed_on_device(&rows, 0);
  knng* h = borrower(&r.m, "auto");
  set_metric(h, &q.metric);
  expect_ok(knng_set(h, "graph", "device", NULL), "graph");
  const int64_t fetched = fake_count("fetched", 0), read = fake_count("read", 0);
  g = built(h, 6);
  knng_matrix a = {.struct_size = sizeof a}, b = a;
  expect_ok(knng_graph_view(expected, &a, &b, NULL), "view");
  for (int way = 0; way < LAYOUTS; ++way) {
    device_rows ids = empty_on_device(KNNG_I64, 120, 6, way % 3, way),
                values = empty_on_device(KNNG_F32, 120, 6, 1, way);
    expect_ok(knng_graph_copy(g, 0, &ids.m, &values.m, NULL), "to devices");
    expect_written(&ids, a.data, 8);
    expect_written(&values, b.data, 4);
    ids.m.cols = 5;
    EXPECT_ERROR(knng_graph_copy(g, 0, &ids.m, NULL, &reported), KNNG_ERR_ARGUMENT, "120 x 6");
    fake_release(ids.block);
    fake_release(values.block);
  }
  assert_int_equal(fake_count("fetched", 0), fetched); /* with both on devices nothing touches the host */
  assert_int_equal(fake_count("read", 0), read);
  /* What the host reads comes once. */
  int16_t from_1[120 * 6];
  for (int64_t e = 0; e < 120 * 6; ++e) from_1[e] = (int16_t)(((int64_t*)a.data)[e] + 1);
  int16_t narrow[120 * 6];
  knng_matrix to = knng_packed(KNNG_I16, 120, 6, narrow);
  expect_ok(knng_graph_copy(g, 1, &to, NULL, NULL), "to the host");
  assert_memory_equal(narrow, from_1, sizeof narrow);
  const int64_t once = fake_count("fetched", 0);
  assert_int_equal(once, fetched + 240);
  int64_t wrong = 0, degrees[120], of_expected[120];
  expect_ok(knng_check(h, g, 0, NULL, &wrong, NULL), "knng_check");
  assert_int_equal(wrong, -1);
  knng_matrix counts = knng_packed(KNNG_I64, 120, 1, degrees);
  expect_ok(knng_graph_rows(g, "indegree", &counts, NULL), "indegree");
  counts.data = of_expected;
  expect_ok(knng_graph_rows(expected, "indegree", &counts, NULL), "indegree");
  assert_memory_equal(degrees, of_expected, sizeof degrees);
  assert_int_equal(fake_count("fetched", 0) - once, 120); /* rows for knng_check() alone */
  knng_sparse* sparse = NULL;
  expect_ok(knng_graph_sparse(g, "union", NULL, &sparse, NULL), "sparse");
  knng_sparse_destroy(sparse);
  const char* const file = "kept_on_a_device.knng";
  expect_ok(knng_graph_save(g, file, NULL, NULL, NULL), "save");
  knng_graph* loaded = NULL;
  expect_ok(knng_graph_load(&loaded, file, NULL, NULL), "load");
  expect_same_graph(expected, loaded, "saved");
  remove(file);
  const char* const edges[] = {"kept_on_a_device.tsv", "kept_on_the_host.tsv"};
  expect_ok(knng_graph_save(g, edges[0], NULL, NULL, NULL), "save");
  expect_ok(knng_graph_save(expected, edges[1], NULL, NULL, NULL), "save");
  expect_same_files(edges[0], edges[1]);
  remove(edges[0]);
  remove(edges[1]);
  knng_graph_destroy(loaded);
  knng_graph_destroy(g);
  knng_destroy(h);
  fake_release(r.block);
  knng_graph_destroy(expected);
  rows_free(&rows);
}

static int32_t stop_at_once(void* user, const char* stage, double done, double total) {
  (void)stage, (void)done, (void)total;
  ++*(int*)user;
  return 1;
}

/* What comes to the host counts under the limit of the call that needs it first, which can be stopped. */
static void lists_that_come_to_the_host_are_counted(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 10, 417);
  const int64_t lists = 300 * 6 * 12;
  const char* const file = "kept_within_a_limit.knng";
  for (int saves = 0; saves < 2; ++saves) {
    knng* h = HANDLE(&rows, "device", "cuda:0", "graph", "device");
    knng_graph* g = built(h, 6);
    knng_destroy(h);
    knng_sparse* s = NULL;
    volatile int32_t stop = 1;
    int calls = 0;
    knng_control c = {.struct_size = sizeof c, .max_bytes = lists - 1};
    const knng_control stopped = {.struct_size = sizeof stopped, .stop = &stop};
    const knng_control asked = {.struct_size = sizeof asked, .progress = stop_at_once, .user = &calls};
    const int64_t fetched = fake_count("fetched", 0);
    if (saves) {
      EXPECT_ERROR(knng_graph_save(g, file, NULL, &c, &reported), KNNG_ERR_BUDGET, "max_bytes");
      EXPECT_ERROR(knng_graph_save(g, file, NULL, &stopped, &reported), KNNG_ERR_CANCELLED, "stopped");
      EXPECT_ERROR(knng_graph_save(g, file, NULL, &asked, &reported), KNNG_ERR_CANCELLED, "stopped");
    } else {
      EXPECT_ERROR(knng_graph_sparse(g, "directed", &c, &s, &reported), KNNG_ERR_BUDGET, "max_bytes");
      EXPECT_ERROR(knng_graph_sparse(g, "directed", &stopped, &s, &reported), KNNG_ERR_CANCELLED, "stopped");
      EXPECT_ERROR(knng_graph_sparse(g, "directed", &asked, &s, &reported), KNNG_ERR_CANCELLED, "stopped");
      /* Lists and matrix together are above a limit that holds either. */
      c.max_bytes = lists + 300 * 8;
      EXPECT_ERROR(knng_graph_sparse(g, "directed", &c, &s, &reported), KNNG_ERR_BUDGET, "max_bytes");
      assert_true(reported.limit > c.max_bytes);
      assert_null(s);
    }
    assert_int_equal(calls, 1);
    /* Of calls that were stopped before they copied anything, nothing came; the last one, above, has its lists. */
    assert_int_equal(fake_count("fetched", 0), fetched + (saves ? 0 : 600));
    c.max_bytes = 1000000;
    if (saves)
      expect_ok(knng_graph_save(g, file, NULL, &c, NULL), "save");
    else
      expect_ok(knng_graph_sparse(g, "directed", &c, &s, NULL), "directed");
    knng_sparse_destroy(s);
    knng_graph_destroy(g);
  }
  remove(file);
  rows_free(&rows);
}

/* Copied to the host and to a device: the same elements, or the same refusal. */
static void expect_as_on_host(const knng_graph* of_host, const knng_graph* g, int32_t base, int32_t dtype, int ids,
                              int way) {
  int64_t room[120 * 6];
  knng_matrix shape = {.struct_size = sizeof shape};
  expect_ok(knng_graph_view(of_host, &shape, NULL, NULL), "view");
  knng_matrix host = knng_packed(dtype, shape.rows, shape.cols, room);
  device_rows r = empty_on_device(dtype, shape.rows, shape.cols, way % 3, way);
  knng_error wanted = {.struct_size = sizeof wanted}, got = wanted;
  const knng_status status = knng_graph_copy(of_host, base, ids ? &host : NULL, ids ? NULL : &host, &wanted);
  assert_int_equal(knng_graph_copy(g, base, ids ? &r.m : NULL, ids ? NULL : &r.m, &got), status);
  if (status != KNNG_OK) {
    assert_memory_equal(&got, &wanted, sizeof got);
  } else {
    expect_written(&r, room, (dtype & 0xff) / 8);
  }
  fake_release(r.block);
}

static const int32_t id_types[] = {KNNG_I16, KNNG_U16, KNNG_I32, KNNG_I64, KNNG_U8, KNNG_F64};
static const int32_t value_types[] = {KNNG_F64, KNNG_F32, KNNG_F16, KNNG_BF16, KNNG_I32};

static void copies_are_converted_on_devices(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 120, 10, 416);
  question q = question_of(&rows, &metric_cases[1], 6);
  for (int f64 = 0; f64 < 2; ++f64) {
    q.value_type = f64 ? "f64" : "f32";
    knng_graph *expected = graph_of_cpu(&q), *kept = NULL;
    knng* h = handle_for(&q, "cuda:1", engine_for_many(&q), "auto", "0");
    expect_ok(knng_set(h, "graph", "device", NULL), "graph");
    expect_ok(answer(h, &q, NULL, &kept), "kept");
    const int64_t fetched = fake_count("fetched", 0);
    for (int way = 0; way < LAYOUTS; ++way)
      for (int i = 0; i < 2; ++i) { /* a graph in host memory is converted there as well */
        const knng_graph* g = i ? expected : kept;
        for (int t = 0; t < 6; ++t)
          for (int base = 0; base < 3; ++base) expect_as_on_host(expected, g, base, id_types[t], 1, way);
        for (int t = 0; t < 5; ++t) expect_as_on_host(expected, g, 0, value_types[t], 0, way);
      }
    assert_int_equal(fake_count("fetched", 0), fetched);
    knng_graph_destroy(kept);
    knng_graph_destroy(expected);
    knng_destroy(h);
  }
  rows_free(&rows);
}

/* Rows of one dimension, ascending but for the last one, which is far away. */
static test_rows rows_in_line(int64_t n, double spread, double last) {
  double* x = malloc((size_t)n * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n - 1; ++i) x[i] = (double)i * spread;
  x[n - 1] = last;
  test_rows rows = rows_from(KNNG_F64, n, 1, x);
  free(x);
  return rows;
}

static void entries_that_do_not_fit_are_refused_as_on_the_host(void** state) {
  (void)state;
  /* Ids about the largest of 16 bits, of queries beside them; and values about the largest of two types. */
  test_rows rows = rows_in_line(65540, 1, 66000), values = rows_in_line(40, 1700, 2e38);
  const double places[] = {32764, 32766.4, 65533.2, 65534.9, 3, 65539};
  test_rows queries = rows_from(KNNG_F64, 6, 1, places);
  question q = question_of(&rows, &metric_cases[1], 3);
  for (int part = 0; part < 6; ++part)
    for (int of_values = 0; of_values < 2; ++of_values) {
      if (of_values && part > 0) continue;
      test_rows one = queries;
      one.n = 6 - part;
      one.data = (double*)queries.data + part;
      one.x = queries.x + part;
      q.rows = of_values ? &values : &rows;
      q.queries = of_values ? NULL : &one;
      q.value_type = "f64";
      knng_graph *expected = graph_of_cpu(&q), *kept = NULL;
      knng* h = handle_for(&q, "cuda:0", engine_for_many(&q), "auto", "0");
      expect_ok(knng_set(h, "graph", "device", NULL), "graph");
      expect_ok(answer(h, &q, NULL, &kept), "kept");
      const int64_t fetched = fake_count("fetched", 0);
      for (int t = 0; t < 4; ++t)
        for (int base = 0; base < 2; ++base) expect_as_on_host(expected, kept, base, id_types[t], 1, part % LAYOUTS);
      for (int t = 0; t < 4; ++t) expect_as_on_host(expected, kept, 0, value_types[t], 0, part % LAYOUTS);
      assert_true(fake_count("fetched", 0) - fetched <= 5); /* the row of each refusal */
      knng_graph_destroy(kept);
      knng_graph_destroy(expected);
      knng_destroy(h);
    }
  rows_free(&rows);
  rows_free(&values);
  rows_free(&queries);
  /* Entries without a neighbour, and what lies beside the largest finite numbers. */
  const int64_t ids[] = {0, 65535, -1, 1, 65534, -1};
  static const double edges[] = {
      65504,          65519.999,         65520,          -65520,     0x1.fep127, 0x1.fefffep127, 0x1.ffp127,
      0x1.fffffep127, 0x1.fffffefffp127, 0x1.ffffffp127, 1e300,      -0.0,       0x1p-24,        0x1p-25,
      0x1.8p-25,      0x1p-133,          0x1p-134,       0x1.8p-134, 0x1p-149,   0x1p-150,       0x1.8p-150,
      0x1p-1074};
  for (size_t e = 0; e < sizeof edges / sizeof *edges; ++e) {
    const double distances[] = {0, 1, INFINITY, 0.1, edges[e], INFINITY};
    const knng_matrix of_ids = knng_packed(KNNG_I64, 2, 3, ids), of_values = knng_packed(KNNG_F64, 2, 3, distances);
    knng_graph* g = NULL;
    expect_ok(knng_graph_import(&g, &of_ids, &of_values, 0, 65536, 0, NULL), "import");
    for (int t = 0; t < 4; ++t)
      for (int base = 0; base < 2 && e == 0; ++base) expect_as_on_host(g, g, base, id_types[t], 1, t);
    for (int t = 0; t < 4; ++t) expect_as_on_host(g, g, 0, value_types[t], 0, t);
    knng_graph_destroy(g);
  }
}

static void what_cannot_be_kept_is_refused(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 10, 415);
  knng* h = HANDLE(&rows, "device", "cpu", "graph", "device");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_OPTION, "graph=device", "device=cpu");
  expect_ok(knng_set(h, "device", "cuda:1,0", NULL), "device");
  devices_behave("1:no_memory_for_lists");
  EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_MEMORY, "graph", "injected lack of memory");
  assert_int_equal(fake_count("bytes", 0), 0);
  devices_behave("1:fails_at_refine=1");
  EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_DEVICE, "injected failure");
  assert_int_equal(fake_count("bytes", 0), 0);
  devices_behave("0:unusable;1:unusable;2:unusable;3:unusable");
  expect_ok(knng_set(h, "device", "auto", NULL), "device");
  EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_DEVICE, "unusable");
  devices_behave("");
  /* Memory of both is in the plan. */
  const knng_plan plan = planned(h, 0, 6);
  assert_true(plan.device_bytes > 300 * 6 * 12);
  assert_int_equal(plan.devices, 1);
  expect_ok(knng_set(h, "graph", "host", NULL), "graph");
  expect_ok(knng_set(h, "device", "cuda:0", NULL), "device");
  const knng_plan on_host = planned(h, 0, 6);
  assert_true(plan.smallest_device == on_host.smallest_device + 300 * 6 * 12);
  assert_true(plan.smallest_host == on_host.smallest_host - 300 * 6 * 12);
  expect_ok(knng_set(h, "graph", "device", NULL), "graph");
  set_bytes(h, "max_device_bytes", plan.smallest_device);
  set_bytes(h, "max_host_bytes", plan.smallest_host);
  g = built(h, 6);
  assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.smallest_device);
  assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.smallest_host);
  knng_graph_destroy(g);
  set_bytes(h, "max_device_bytes", plan.smallest_device - 1);
  EXPECT_ERROR(knng_build(h, 6, NULL, &g, &reported), KNNG_ERR_BUDGET, "max_device_bytes");
  knng_destroy(h);
  rows_free(&rows);
  /* A value that does not fit, of a row on the device. */
  double large[40 * 2] = {0};
  for (int i = 0; i < 80; ++i) large[i] = i;
  large[39 * 2] = 1e60;
  rows = rows_from(KNNG_F64, 40, 2, large);
  h = HANDLE(&rows, "device", "cuda:0", "graph", "device", "value_type", "f32");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_RANGE, "row 39", "value_type=f64");
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  if (!find_fake_memory()) return 1;
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(graphs_are_kept_on_a_device),     DEVICE_TEST(slices_are_kept),
      DEVICE_TEST(equal_rows_are_put_back_there),   DEVICE_TEST(kept_graphs_are_copied_and_read),
      DEVICE_TEST(copies_are_converted_on_devices), DEVICE_TEST(entries_that_do_not_fit_are_refused_as_on_the_host),
      DEVICE_TEST(what_cannot_be_kept_is_refused),  DEVICE_TEST(lists_that_come_to_the_host_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
