/* Rows, queries and results in memory of devices: the same graphs, read and written where they are, after the caller's
 * stream; and what is said of memory that is not there. On simulated devices, whose memory ends a program that
 * touches it (tests/backend/fake_memory.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cmocka.h"
#include "harness/device_memory.h"

static void expect_text(const knng_graph* g, const char* name, const char* expected) {
  char text[160];
  expect_ok(knng_graph_text(g, name, text, sizeof text, NULL, NULL), name);
  if (strncmp(text, expected, strlen(expected)) != 0 || (!*expected && *text))
    fail_msg("%s is '%s' instead of '%s'", name, text, expected);
}

/* Before anything is loaded: nobody is asked whose memory it is. */
static void nobody_is_loaded_to_be_asked(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 9, 3, 401);
  knng_matrix m = matrix_of(&rows);
  m.space = KNNG_ANY;
  knng* h = HANDLE(NULL, NULL);
  expect_ok(knng_borrow(h, &m, NULL, NULL), "host memory");
  assert_int_equal(fake_count("located", 0), 0);
  knng_device d;
  d.struct_size = sizeof d;
  expect_ok(knng_device_get(1, &d, NULL), "loads the library");
  expect_ok(knng_borrow(h, &m, NULL, NULL), "host memory");
  assert_true(fake_count("located", 0) > 0);
  m.space = KNNG_HOST;
  const int64_t asked = fake_count("located", 0);
  expect_ok(knng_borrow(h, &m, NULL, NULL), "host memory");
  assert_int_equal(fake_count("located", 0), asked);
  knng_destroy(h);
  rows_free(&rows);
}

static void rows_of_devices_give_the_same_graph(void** state) {
  (void)state;
  static const int32_t spaces[] = {KNNG_CUDA, KNNG_MANAGED, KNNG_ANY};
  int turn = 0;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows rows = rows_positive(row_dtypes[t], 90, 20, 402);
    for (int m = 0; m < METRIC_CASES; m += small_run() ? 5 : 1) {
      const question q = question_of(&rows, &metric_cases[m], 6);
      knng_graph* expected = graph_of_cpu(&q);
      for (int way = 0; way < LAYOUTS; ++way) {
        if (way > 0 && m % 6 != t % 6) continue;
        const layout l = layout_of(way, rows.n, rows.d);
        device_rows r = on_device(&rows, way % 2 ? KNNG_MANAGED : KNNG_CUDA, way % 3, &l, 0);
        r.m.space = spaces[(way + m) % 3];
        for (const char* const* set = device_sets(); *set; ++set) {
          if (!tried(turn++, 4)) continue;
          char label[160];
          snprintf(label, sizeof label, "%s %s layout %d on %s", dtype_label(rows.dtype), q.metric.metric, way, *set);
          knng* h = borrower(&r.m, *set);
          set_metric(h, &q.metric);
          const int64_t read = fake_count("read", 0), fetched = fake_count("fetched", 0);
          knng_graph* g = NULL;
          expect_ok(knng_build(h, q.k, NULL, &g, NULL), label);
          expect_as_from_memory(expected, g, label);
          assert_int_equal(fake_count("read", 0), read); /* nothing touched the host */
          assert_int_equal(fake_count("fetched", 0), fetched);
          expect_text(g, "device", "cuda:");
          int64_t wrong = 0;
          expect_ok(knng_check(h, g, 20, NULL, &wrong, NULL), "knng_check");
          assert_int_equal(wrong, -1);
          knng_graph_destroy(g);
          knng_destroy(h);
        }
        fake_release(r.block);
      }
      knng_graph_destroy(expected);
    }
    rows_free(&rows);
  }
}

static void the_cpu_gets_copies(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 200, 6, 2, 403); /* full of duplicates */
  const layout l = layout_of(1, rows.n, rows.d);
  device_rows r = on_device(&rows, KNNG_CUDA, 1, &l, 0);
  knng *host = HANDLE(&rows, "device", "cpu"), *h = borrower(&r.m, "cpu");
  knng_graph *expected = built(host, 7), *g = built(h, 7);
  expect_as_from_memory(expected, g, "copies");
  knng_graph_destroy(g);
  /* They are in the plan. */
  const knng_plan plan = planned(h, 0, 7), of_host = planned(host, 0, 7);
  /* There the library holds them always; of those on the device it has hashes. */
  assert_true(plan.smallest_host == of_host.smallest_host + 8 * rows.n);
  assert_int_equal(plan.device_bytes, 0);
  set_bytes(h, "max_host_bytes", plan.smallest_host);
  g = built(h, 7);
  assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.smallest_host);
  expect_same(expected, g, "within the smallest budget");
  knng_graph_destroy(g);
  devices_behave("1:fails_to_fetch");
  EXPECT_ERROR(knng_build(h, 7, NULL, &g, &reported), KNNG_ERR_DEVICE, "rows", "injected failure");
  knng_graph_destroy(expected);
  knng_destroy(h);
  knng_destroy(host);
  fake_release(r.block);
  rows_free(&rows);
}

/* Few are different: the others are put back afterwards, wherever they are. */
static void equal_rows_are_left_out(void** state) {
  (void)state;
  static const double equal[5] = {1, 1, 1, 1, 1};
  double of_all[40 * 5];
  for (int i = 0; i < 40; ++i) memcpy(of_all + i * 5, equal, sizeof equal);
  for (int all = 0; all < 2; ++all) {
    /* With zero rows and constant ones, which some metrics do not collapse. */
    test_rows rows = all ? rows_from(KNNG_F32, 40, 5, of_all) : rows_grid(KNNG_F32, 200, 6, 2, 403);
    const int64_t ends[] = {rows.n * 3 / 10, rows.n / 2, rows.n};
    device_rows parts[3];
    knng_matrix m[3];
    int64_t first = 0;
    for (int i = 0; i < 3; first = ends[i++]) { /* of device 1, of the host, of device 0 */
      test_rows part = rows;
      part.n = ends[i] - first;
      part.data = (char*)rows.data + first * rows.d * 4;
      const layout l = layout_of(i, part.n, part.d);
      parts[i] = on_device(&part, KNNG_CUDA, i == 0, &l, 0);
      m[i] = i == 1 ? matrix_of(&part) : parts[i].m;
    }
    for (int i = 0; i < METRIC_CASES; ++i) {
      const question q = question_of(&rows, &metric_cases[i], 6);
      knng_error failure;
      knng_graph* expected = answer_of_cpu(&q, &failure);
      if (!expected) continue;
      const char* const metric = q.metric.metric;
      const int alone =
          !strcmp(metric, "inner_product") || (all && (!strcmp(metric, "correlation") || !strcmp(metric, "spearman")));
      for (const char* const* set = device_sets(); *set; ++set) {
        char label[120];
        snprintf(label, sizeof label, "%s, %s rows, on %s", q.metric.metric, all ? "equal" : "some equal", *set);
        knng* h = HANDLE(NULL, "device", *set);
        set_metric(h, &q.metric);
        for (int part = 0; part < 3; ++part) expect_ok(knng_borrow(h, &m[part], NULL, NULL), "a part");
        knng_graph* g = built(h, q.k);
        expect_as_from_memory(expected, g, label);
        if (!alone) assert_true(stat_of(g, "pairs") < (double)(rows.n * (rows.n - 1) / 2));
        knng_graph_destroy(g);
        knng_destroy(h);
      }
      knng_graph_destroy(expected);
    }
    for (int i = 0; i < 3; ++i) fake_release(parts[i].block);
    rows_free(&rows);
  }
}

static void rows_here_and_there(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F64, 130, 9, 404);
  const question q = question_of(&rows, &metric_cases[1], 5);
  knng_graph* expected = graph_of_cpu(&q);
  /* Of device 1, of the host, of device 0, of the host, of device 1. */
  const int64_t ends[] = {30, 41, 80, 81, 130};
  device_rows parts[5];
  knng* h = HANDLE(NULL, NULL);
  int64_t first = 0;
  for (int i = 0; i < 5; ++i) {
    test_rows part = rows;
    part.n = ends[i] - first;
    part.data = (char*)rows.data + first * rows.d * 8;
    parts[i] = packed_on_device(&part, i == 2 ? 0 : 1);
    const knng_matrix host = matrix_of(&part);
    expect_ok(i % 2 ? knng_add(h, &host, NULL, NULL) : knng_borrow(h, &parts[i].m, NULL, NULL), "a part");
    first = ends[i];
  }
  for (const char* const* set = device_sets(); *set; ++set) {
    expect_ok(knng_set(h, "device", *set, NULL), "device");
    const int64_t read = fake_count("read", 0), sessions = planned(h, 0, 5).devices;
    knng_graph* g = built(h, 5);
    expect_same(expected, g, *set);
    assert_int_equal(fake_count("read", 0) - read, 12 * sessions);
    knng_graph_destroy(g);
  }
  expect_ok(knng_set(h, "device", "auto", NULL), "device");
  knng_graph* g = built(h, 5);
  expect_same(expected, g, "auto");
  expect_text(g, "device", "cuda:0,1: "); /* those that have the rows, though they are few */
  knng_graph_destroy(g);
  expect_ok(knng_set(h, "device", "cpu", NULL), "device");
  g = built(h, 5);
  expect_same(expected, g, "cpu");
  knng_graph_destroy(g);
  double back[130 * 9];
  knng_matrix to = knng_packed(KNNG_F64, 60, 9, back);
  expect_ok(knng_read(h, 25, &to, NULL), "knng_read");
  assert_memory_equal(back, rows.x + 25 * 9, sizeof(double) * 60 * 9);
  knng_destroy(h);
  for (int i = 0; i < 5; ++i) fake_release(parts[i].block);
  knng_graph_destroy(expected);
  rows_free(&rows);
}

static void queries_of_devices(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_U8, 141, 11, 405), queries = rows_positive(KNNG_F16, 37, 11, 406);
  int64_t leave_out[37];
  for (int64_t i = 0; i < 37; ++i) leave_out[i] = i % 3 ? (i * 31) % 141 : -1;
  question q = question_of(&rows, &metric_cases[4], 8);
  q.queries = &queries;
  q.leave_out = leave_out;
  const knng_matrix left_out = knng_packed(KNNG_I64, 37, 1, leave_out);
  knng_graph *expected = graph_of_cpu(&q), *g = NULL;
  const device_rows r = packed_on_device(&rows, 1), of_queries = packed_on_device(&queries, 0);
  static const char* const devices[] = {"cuda:0", "cuda:1", "cuda:2", "cpu", "auto"};
  for (int i = 0; i < 5; ++i)
    for (int which = 1; which < 4; ++which) {
      knng* h = HANDLE(which & 1 ? NULL : &rows, "device", devices[i]);
      if (which & 1) expect_ok(knng_borrow(h, &r.m, NULL, NULL), "knng_borrow");
      set_metric(h, &q.metric);
      const knng_matrix host = matrix_of(&queries);
      expect_ok(knng_query(h, which & 2 ? &of_queries.m : &host, &left_out, 0, q.k, NULL, &g, NULL), devices[i]);
      expect_same(expected, g, devices[i]);
      if (i == 4) expect_text(g, "device", which == 1 ? "cuda:1: " : which == 2 ? "cuda:0: " : "cuda:0,1: ");
      knng_graph_destroy(g);
      knng_destroy(h);
    }
  fake_release(r.block);
  fake_release(of_queries.block);
  knng_graph_destroy(expected);
  rows_free(&rows);
  rows_free(&queries);
}

static void work_comes_after_the_stream(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 50, 7, 407);
  const question q = question_of(&rows, &metric_cases[1], 4);
  knng_graph *expected = graph_of_cpu(&q), *g = NULL;
  const layout l = layout_of(2, rows.n, rows.d);
  const float nan = NAN;
  for (int space = 0; space < 3; ++space)
    for (int add = 0; add < 2; ++add) {
      device_rows r = on_device(&rows, space ? KNNG_MANAGED : KNNG_CUDA, 0, &l, 77);
      void* const place = (char*)r.m.data + (3 * l.row_stride + 2) * 4;
      fake_copy(place, &nan, 4, 0); /* until the stream is done */
      if (space == 2) r.m.space = KNNG_ANY;
      knng* h = HANDLE(NULL, "device", "cuda:0");
      r.m.stream = 0;
      EXPECT_ERROR(add ? knng_add(h, &r.m, NULL, &reported) : knng_borrow(h, &r.m, NULL, &reported), KNNG_ERR_DATA,
                   "row 3", "column 2", "NaN");
      r.m.stream = 77;
      expect_ok(add ? knng_add(h, &r.m, NULL, NULL) : knng_borrow(h, &r.m, NULL, NULL), "after the stream");
      if (add) fake_release(r.block);
      g = built(h, 4);
      expect_same(expected, g, "after the stream");
      knng_graph_destroy(g);
      knng_destroy(h);
      if (!add) fake_release(r.block);
    }
  /* Host memory may be filled by a stream as well. */
  float host[50 * 7];
  for (int i = 0; i < 50 * 7; ++i) host[i] = NAN;
  fake_copy(host, rows.data, sizeof host, 77);
  knng_matrix m = knng_packed(KNNG_F32, 50, 7, host);
  knng* h = HANDLE(NULL, "device", "cpu");
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_DATA, "NaN");
  m.space = KNNG_PINNED;
  m.stream = 77;
  expect_ok(knng_borrow(h, &m, NULL, NULL), "after the stream");
  g = built(h, 4);
  expect_same(expected, g, "after the stream");
  m.stream = 78;
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "no such stream");
  knng_graph_destroy(g);
  knng_destroy(h);
  knng_graph_destroy(expected);
  rows_free(&rows);
}

static void what_is_not_there_is_refused(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 50, 7, 408);
  device_rows r = packed_on_device(&rows, 1);
  knng* h = HANDLE(NULL, "device", "cuda:0");
  knng_matrix m = r.m;
  m.device = 0;
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "device=0", "device 1");
  m = matrix_of(&rows);
  m.space = KNNG_CUDA;
  EXPECT_ERROR(knng_add(h, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "space=2", "no device memory");
  m.space = KNNG_MANAGED;
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "space=13", "no device memory");
  m = r.m;
  m.rows = 100000;
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "rows", "beyond");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_STATE, "rows"); /* as it was */
  expect_ok(knng_borrow(h, &r.m, NULL, NULL), "knng_borrow");
  /* Gone before it is read. */
  fake_release(r.block);
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "cuda:0", "any more");
  assert_null(g);
  expect_ok(knng_set(h, "device", "cpu", NULL), "cpu");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "rows", "any more");
  knng_destroy(h);
  rows_free(&rows);
  /* What the metric cannot take, as the CPU says it. */
  rows = rows_positive(KNNG_F32, 60, 5, 409);
  ((float*)rows.data)[41 * 5 + 3] = -2;
  r = packed_on_device(&rows, 0);
  char message[480];
  knng* host = HANDLE(&rows, "device", "cpu", "metric", "hellinger");
  EXPECT_ERROR(knng_build(host, 3, NULL, &g, &reported), KNNG_ERR_DATA, "row 41", "column 3");
  snprintf(message, sizeof message, "%s", knng_last_error());
  h = borrower(&r.m, "cuda:2");
  expect_ok(knng_set(h, "metric", "hellinger", NULL), "metric");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_DATA, message);
  knng_destroy(h);
  knng_destroy(host);
  fake_release(r.block);
  rows_free(&rows);
}

/* Values that rows may not have are found on the device, and reported as on the host. */
static void what_rows_may_not_have_is_told_as_on_the_host(void** state) {
  (void)state;
  static const struct {
    int32_t dtype;
    uint64_t bits;
  } bad[] = {{KNNG_I64, (UINT64_C(1) << 53) + 1},
             {KNNG_I64, UINT64_C(1) << 63},
             {KNNG_U64, UINT64_MAX},
             {KNNG_U64, (UINT64_C(1) << 53) + 1},
             {KNNG_BOOL, 7},
             {KNNG_F64, UINT64_C(0xfff) << 52},
             {KNNG_F32, 0x7fc00000},
             {KNNG_F16, 0x7c00},
             {KNNG_BF16, 0xff80}};
  enum { n = 45, d = 37, row = 28, col = 33 };
  for (size_t b = 0; b < sizeof bad / sizeof *bad; ++b) {
    test_rows rows = rows_normal(bad[b].dtype, n, d, 412), good = rows_normal(bad[b].dtype, n, d, 413);
    const size_t size = (size_t)dtype_size(rows.dtype);
    memcpy((char*)rows.data + (row * d + col) * size, &bad[b].bits, size);
    memcpy((char*)rows.data + (row * d + col + 2) * size, &bad[b].bits, size);
    const knng_matrix m = matrix_of(&rows);
    knng *h = HANDLE(NULL, NULL), *asked = HANDLE(&good, "device", "cuda:0");
    EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_DATA, "row 28", "column 33");
    const knng_error of_host = reported;
    for (int way = 0; way < LAYOUTS; ++way) {
      const layout l = layout_of(way, n, d);
      device_rows r = on_device(&rows, way % 2 ? KNNG_MANAGED : KNNG_CUDA, way % 2, &l, 0);
      knng_graph* g = NULL;
      for (int call = 0; call < 3; ++call) {
        EXPECT_ERROR(call == 0   ? knng_add(h, &r.m, NULL, &reported)
                     : call == 1 ? knng_borrow(h, &r.m, NULL, &reported)
                                 : knng_query(asked, &r.m, NULL, 0, 3, NULL, &g, &reported),
                     KNNG_ERR_DATA, call < 2 ? of_host.message : "row 28");
        assert_true(reported.row == row && reported.col == col);
        assert_true(reported.given == of_host.given && reported.limit == of_host.limit);
      }
      assert_null(g);
      fake_release(r.block);
    }
    knng_destroy(h);
    knng_destroy(asked);
    rows_free(&rows);
    rows_free(&good);
  }
}

static int released;
static void count_release(void* owner) { released += *(int*)owner; }

static void added_rows_are_copies_and_borrowed_ones_are_not(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_BF16, 40, 5, 410);
  const question q = question_of(&rows, &metric_cases[0], 4);
  knng_graph *expected = graph_of_cpu(&q), *g = NULL;
  const layout l = layout_of(3, rows.n, rows.d);
  device_rows r = on_device(&rows, KNNG_CUDA, 3, &l, 0);
  knng* h = HANDLE(NULL, "device", "cuda:0", "max_host_bytes", "399");
  set_metric(h, &q.metric);
  EXPECT_ERROR(knng_add(h, &r.m, NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes", "400");
  expect_ok(knng_set(h, "max_host_bytes", "0", NULL), "max_host_bytes");
  expect_ok(knng_add(h, &r.m, NULL, NULL), "knng_add");
  int one = 1;
  r.m.release = count_release;
  r.m.owner = &one;
  expect_ok(knng_borrow(h, &r.m, NULL, NULL), "knng_borrow");
  assert_int_equal(released, 0);
  float back[40 * 5];
  for (int part = 0; part < 2; ++part) {
    knng_matrix to = knng_packed(KNNG_F32, 40, 5, back);
    expect_ok(knng_read(h, part * 40, &to, NULL), "knng_read");
    for (int i = 0; i < 40 * 5; ++i) assert_true(back[i] == (float)rows.x[i]);
  }
  int8_t narrow[5];
  knng_matrix to = knng_packed(KNNG_I8, 1, 5, narrow);
  EXPECT_ERROR(knng_read(h, 43, &to, &reported), KNNG_ERR_RANGE, "row 43");
  knng_destroy(h);
  assert_int_equal(released, 1);
  h = HANDLE(NULL, "device", "cuda:0");
  set_metric(h, &q.metric);
  expect_ok(knng_add(h, &r.m, NULL, NULL), "knng_add");
  fake_release(r.block);
  g = built(h, 4);
  expect_same(expected, g, "a copy");
  knng_graph_destroy(g);
  knng_destroy(h);
  knng_graph_destroy(expected);
  rows_free(&rows);
}

static void results_go_to_devices_and_come_from_them(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 60, 6, 411);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, 5);
  int32_t ids[60 * 5];
  double values[60 * 5];
  uint8_t ties[60];
  knng_matrix host_ids = knng_packed(KNNG_I32, 60, 5, ids), host_values = knng_packed(KNNG_F64, 60, 5, values),
              host_ties = knng_packed(KNNG_U8, 60, 1, ties);
  expect_ok(knng_graph_copy(g, 1, &host_ids, &host_values, NULL), "to the host");
  expect_ok(knng_graph_rows(g, "ties", &host_ties, NULL), "ties");
  for (int way = 0; way < LAYOUTS; ++way) {
    device_rows of_ids = empty_on_device(KNNG_I32, 60, 5, 0, way), of_values = empty_on_device(KNNG_F64, 60, 5, 1, way),
                of_ties = empty_on_device(KNNG_U8, 60, 1, 0, way), of_rows = empty_on_device(KNNG_F32, 60, 6, 2, way);
    expect_ok(knng_graph_copy(g, 1, &of_ids.m, &of_values.m, NULL), "to devices");
    expect_written(&of_ids, ids, 4);
    expect_written(&of_values, values, 8);
    expect_ok(knng_graph_rows(g, "ties", &of_ties.m, NULL), "ties");
    expect_written(&of_ties, ties, 1);
    expect_ok(knng_read(h, 0, &of_rows.m, NULL), "knng_read");
    expect_written(&of_rows, rows.data, 4);
    expect_ok(knng_graph_copy(g, 0, &of_ids.m, NULL, NULL), "from 0");
    knng_graph* again = NULL;
    expect_ok(knng_graph_import(&again, &of_ids.m, &of_values.m, 0, of_ids.m.rows, 1, NULL), "import");
    double same[60 * 5];
    host_values.data = same;
    expect_ok(knng_graph_copy(again, 1, &host_ids, &host_values, NULL), "to the host");
    assert_memory_equal(same, values, sizeof same);
    knng_graph_destroy(again);
    /* After what is in the stream already. */
    const int32_t late = -7;
    fake_copy(of_ids.m.data, &late, 4, 79);
    of_ids.m.stream = 79;
    expect_ok(knng_graph_copy(g, 1, &of_ids.m, NULL, NULL), "after the stream");
    expect_written(&of_ids, ids, 4);
    of_ids.m.stream = 0;
    of_ids.m.cols = 4;
    EXPECT_ERROR(knng_graph_copy(g, 1, &of_ids.m, NULL, &reported), KNNG_ERR_ARGUMENT, "60 x 5");
    fake_release(of_ids.block);
    fake_release(of_values.block);
    fake_release(of_ties.block);
    fake_release(of_rows.block);
  }
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static int32_t stop_in_the_middle(void* user, const char* stage, double done, double total) {
  const struct timespec wait = {0, 2 * 1000 * 1000}; /* so that it is called at every chance */
  nanosleep(&wait, NULL);
  return strcmp(stage, user) == 0 && done > 0 && done < total;
}

/* Rows on a device are looked at in blocks of 128 MiB; between two a call can be stopped. */
static void borrowing_can_be_stopped_midway(void** state) {
  (void)state;
  if (!fake_devices) skip();
  enum { d = 64 };
  test_rows rows = rows_grid(KNNG_F64, 300000, d, 3, 427);
  device_rows r = packed_on_device(&rows, 0);
  knng* h = HANDLE(NULL, "device", "cuda:0");
  static char stage[] = "check";
  const knng_control c = {.struct_size = sizeof c, .interval_ms = 1, .progress = stop_in_the_middle, .user = stage};
  EXPECT_ERROR(knng_borrow(h, &r.m, &c, &reported), KNNG_ERR_CANCELLED, "stopped");
  int64_t held = -1;
  expect_ok(knng_shape(h, &held, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(held, 0);
  expect_ok(knng_borrow(h, &r.m, NULL, NULL), "borrow");
  knng_destroy(h);
  fake_release(r.block);
  rows_free(&rows);
}

int main(void) {
  if (!find_fake_memory()) return 1;
  const struct CMUnitTest first[] = {cmocka_unit_test(nobody_is_loaded_to_be_asked)};
  if (cmocka_run_group_tests(first, NULL, NULL) != 0) return 1;
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(rows_of_devices_give_the_same_graph),
      DEVICE_TEST(the_cpu_gets_copies),
      DEVICE_TEST(equal_rows_are_left_out),
      DEVICE_TEST(rows_here_and_there),
      DEVICE_TEST(queries_of_devices),
      DEVICE_TEST(work_comes_after_the_stream),
      DEVICE_TEST(what_is_not_there_is_refused),
      DEVICE_TEST(what_rows_may_not_have_is_told_as_on_the_host),
      DEVICE_TEST(added_rows_are_copies_and_borrowed_ones_are_not),
      DEVICE_TEST(results_go_to_devices_and_come_from_them),
      DEVICE_TEST(borrowing_can_be_stopped_midway),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
