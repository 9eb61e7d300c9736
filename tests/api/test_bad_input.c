/* What a caller can get wrong: each mistake has its code and a message that names argument, value and limit, and the
 * handle works afterwards as if nothing had happened. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

typedef struct fixture {
  test_rows rows;
  knng* h;
  knng_graph* g; /* before all mistakes */
} fixture;

static int setup(void** state) {
  static fixture f;
  f.rows = rows_grid(KNNG_F32, 40, 3, 5, 91);
  f.h = HANDLE(&f.rows, "device", "cpu");
  f.g = built(f.h, 6);
  *state = &f;
  return 0;
}

static int teardown(void** state) {
  fixture* f = *state;
  int64_t n = 0;
  expect_ok(knng_shape(f->h, &n, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(n, 40);
  knng_graph* g = built(f->h, 6);
  expect_same_graph(f->g, g, "before and after the mistakes");
  knng_graph_destroy(g);
  knng_graph_destroy(f->g);
  knng_destroy(f->h);
  rows_free(&f->rows);
  return 0;
}

/* What is written must not share memory; members of records lie between each other and do not. */
static void outputs_apart(void** state) {
  const fixture* f = *state;
  enum { kEntries = 40 * 6 };
  knng_matrix both;
  both.struct_size = sizeof both;
  EXPECT_ERROR(knng_graph_view(f->g, &both, &both, &reported), KNNG_ERR_ARGUMENT,
               "values: it is the struct that ids is");
  int64_t memory[2 * kEntries];
  for (int64_t apart = 0; apart <= kEntries; apart += kEntries / 4) {
    memset(memory, 0x5a, sizeof memory);
    knng_matrix ids = knng_packed(KNNG_I64, 40, 6, memory), values = knng_packed(KNNG_F64, 40, 6, memory + apart);
    if (apart < kEntries) {
      EXPECT_ERROR(knng_graph_copy(f->g, 0, &ids, &values, &reported), KNNG_ERR_ARGUMENT, "values", "memory with ids");
      for (int i = 0; i < 2 * kEntries; ++i) assert_int_equal(memory[i], 0x5a5a5a5a5a5a5a5a);
    } else {
      expect_ok(knng_graph_copy(f->g, 0, &ids, &values, NULL), "one behind the other");
    }
  }
  int64_t records[2 * kEntries];
  knng_matrix ids = knng_packed(KNNG_I64, 40, 6, records), values = knng_packed(KNNG_F64, 40, 6, records + 1);
  ids.row_stride = values.row_stride = 12;
  ids.col_stride = values.col_stride = 2;
  expect_ok(knng_graph_copy(f->g, 0, &ids, &values, NULL), "records");
  for (int i = 0; i < kEntries; ++i)
    assert_true(records[2 * i] == memory[i] && records[2 * i + 1] == memory[kEntries + i]);
}

/* Rows that become NaN after knng_borrow() break the contract; what is said then does not lead elsewhere. */
static void rows_that_changed(void** state) {
  (void)state;
  static const char* const metrics_[] = {"euclidean", "manhattan", "cosine"};
  for (size_t m = 0; m < sizeof metrics_ / sizeof *metrics_; ++m)
    for (int wide = 0; wide < 2; ++wide) {
      test_rows rows = rows_positive(KNNG_F32, 60, 8, 77);
      knng* h = HANDLE(NULL, "device", "cpu", "metric", metrics_[m], "value_type", wide ? "f64" : "f32");
      const knng_matrix borrowed = matrix_of(&rows);
      expect_ok(knng_borrow(h, &borrowed, NULL, NULL), "borrow");
      ((float*)rows.data)[38 * 8 + 5] = NAN;
      knng_graph* g = NULL;
      const knng_status status = knng_build(h, 59, NULL, &g, &reported);
      assert_true(status == KNNG_ERR_DATA && strstr(reported.message, "rows have changed after they were borrowed"));
      assert_null(g);
      knng_destroy(h);
      rows_free(&rows);
    }
}

static void null_pointers(void** state) {
  const fixture* f = *state;
  unsigned char bytes[40];
  knng_matrix m = matrix_of(&f->rows), ids = knng_packed(KNNG_I64, 40, 6, NULL),
              column = knng_packed(KNNG_U8, 40, 1, bytes);
  knng_graph* g = f->g;
  knng_sparse* s = NULL;
  double number;
  int64_t id;
  char buf[8];
  EXPECT_ERROR(knng_create(NULL, 3, KNNG_F32, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_add(NULL, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "h", "NULL");
  EXPECT_ERROR(knng_add(f->h, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "rows", "NULL");
  EXPECT_ERROR(knng_borrow(NULL, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "h", "NULL");
  EXPECT_ERROR(knng_borrow(f->h, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "rows", "NULL");
  EXPECT_ERROR(knng_add_file(f->h, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "path", "NULL");
  EXPECT_ERROR(knng_add_file(NULL, "x.npy", NULL, &reported), KNNG_ERR_ARGUMENT, "h", "NULL");
  EXPECT_ERROR(knng_file_text(NULL, 0, "file", NULL, 0, &id, &reported), KNNG_ERR_ARGUMENT, "h", "NULL");
  EXPECT_ERROR(knng_file_text(f->h, 0, NULL, NULL, 0, &id, &reported), KNNG_ERR_ARGUMENT, "name", "NULL");
  EXPECT_ERROR(knng_shape(NULL, &id, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "h", "NULL");
  EXPECT_ERROR(knng_estimate(f->h, 0, 3, NULL, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_build(f->h, 3, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_build(NULL, 3, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "h", "NULL");
  assert_null(g);
  g = f->g;
  EXPECT_ERROR(knng_query_file(f->h, NULL, 3, NULL, &g, &reported), KNNG_ERR_ARGUMENT, "path", "NULL");
  assert_null(g);
  EXPECT_ERROR(knng_check(f->h, NULL, 0, NULL, &id, &reported), KNNG_ERR_ARGUMENT, "g", "NULL");
  EXPECT_ERROR(knng_check(f->h, f->g, 0, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "first_wrong", "NULL");
  EXPECT_ERROR(knng_graph_import(&g, NULL, NULL, 0, 3, 1, &reported), KNNG_ERR_ARGUMENT, "ids", "NULL");
  EXPECT_ERROR(knng_graph_import(NULL, &ids, NULL, 0, 3, 1, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_graph_view(NULL, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "g", "NULL");
  expect_ok(knng_graph_view(f->g, NULL, NULL, NULL), "nothing to show");
  EXPECT_ERROR(knng_graph_copy(NULL, 0, &ids, NULL, &reported), KNNG_ERR_ARGUMENT, "g", "NULL");
  EXPECT_ERROR(knng_graph_copy(f->g, 0, &ids, NULL, &reported), KNNG_ERR_ARGUMENT, "ids", "data", "NULL");
  EXPECT_ERROR(knng_graph_rows(f->g, NULL, &column, &reported), KNNG_ERR_ARGUMENT, "what", "NULL");
  EXPECT_ERROR(knng_graph_rows(f->g, "ties", NULL, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_graph_stat(f->g, NULL, &number, &reported), KNNG_ERR_ARGUMENT, "name", "NULL");
  EXPECT_ERROR(knng_graph_stat(f->g, "rows", NULL, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_graph_text(NULL, "metric", buf, 8, NULL, &reported), KNNG_ERR_ARGUMENT, "g", "NULL");
  EXPECT_ERROR(knng_graph_save(f->g, NULL, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "path", "NULL");
  EXPECT_ERROR(knng_graph_load(NULL, "x.knng", NULL, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_graph_load(&g, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "path", "NULL");
  EXPECT_ERROR(knng_graph_sparse(f->g, NULL, NULL, &s, &reported), KNNG_ERR_ARGUMENT, "rule", "NULL");
  EXPECT_ERROR(knng_graph_sparse(NULL, "union", NULL, &s, &reported), KNNG_ERR_ARGUMENT, "g", "NULL");
  EXPECT_ERROR(knng_graph_sparse(f->g, "union", NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "out", "NULL");
  EXPECT_ERROR(knng_sparse_view(NULL, &m, NULL, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "s", "NULL");
  knng_destroy(NULL);
  knng_graph_destroy(NULL);
  knng_sparse_destroy(NULL);
}

/* The same mistakes in knng_add, knng_borrow and knng_query. */
static void expect_matrix_error(const fixture* f, const knng_matrix* m, knng_status code, const char* word,
                                const char* value) {
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_add(f->h, m, NULL, &reported), code, word, value);
  EXPECT_ERROR(knng_borrow(f->h, m, NULL, &reported), code, word, value);
  EXPECT_ERROR(knng_query(f->h, m, NULL, 0, 3, NULL, &g, &reported), code, word, value);
  assert_null(g);
}

static void released_never(void* owner) {
  (void)owner;
  fail();
}

static void matrices(void** state) {
  const fixture* f = *state;
  const knng_matrix good = matrix_of(&f->rows);
  knng_matrix m = good;
  m.struct_size = 0;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "struct_size", "0");
  m.struct_size = 16;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "struct_size", "16");
  m = good;
  /* A member that ends behind the struct is none: half a pointer would be called. */
  m.struct_size = offsetof(knng_matrix, release) + 4;
  m.release = released_never;
  knng* other = HANDLE(NULL, "device", "cpu");
  expect_ok(knng_borrow(other, &m, NULL, NULL), "a struct that ends within release");
  knng_destroy(other);
  for (size_t size = offsetof(knng_error, row); size < sizeof(knng_error); ++size) {
    knng_error cut;
    memset(&cut, 'x', sizeof cut);
    cut.struct_size = (uint32_t)size;
    m = good;
    m.rows = 0;
    other = HANDLE(NULL, "device", "cpu");
    assert_int_equal(knng_add(other, &m, NULL, &cut), KNNG_ERR_RANGE);
    knng_destroy(other);
    const char* const bytes = (const char*)&cut;
    for (size_t i = size; i < sizeof cut; ++i) assert_int_equal(bytes[i], 'x');
    /* A text is there as a whole, or not at all. */
    if (size < offsetof(knng_error, reason)) assert_int_equal(cut.message[0], 'x');
    if (size < offsetof(knng_error, message)) assert_int_equal(cut.argument[0], 'x');
  }
  m = good;
  m.rows = 0;
  expect_matrix_error(f, &m, KNNG_ERR_RANGE, "rows", "0");
  m.rows = -5;
  expect_matrix_error(f, &m, KNNG_ERR_RANGE, "rows", "-5");
  m = good;
  m.cols = 0;
  expect_matrix_error(f, &m, KNNG_ERR_RANGE, "cols", "0");
  m.cols = -1;
  expect_matrix_error(f, &m, KNNG_ERR_RANGE, "cols", "-1");
  m.cols = 4;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "4", "3");
  m = good;
  m.data = NULL;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "data", "NULL");
  m.data = (char*)good.data + 1;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "data", "4");
  m = good;
  m.dtype = 0x999;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "dtype", "0x999");
  m.dtype = KNNG_NO_DTYPE;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "dtype", "bool");
  m.dtype = 0x601; /* bools of one bit */
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "dtype", "0x601");
  m = good;
  m.rows = INT64_MAX;
  expect_matrix_error(f, &m, KNNG_ERR_RANGE, "9223372036854775807", "63 bits");
  m = good;
  m.row_stride = INT64_MAX / 2;
  m.col_stride = 1;
  expect_matrix_error(f, &m, KNNG_ERR_RANGE, "63 bits", "");
  m = good;
  m.row_stride = m.cols; /* and the other is forgotten */
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "col_stride=0", "packed");
  m.row_stride = 0;
  m.col_stride = 1;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "row_stride=0", "packed");
  m = good;
  m.space = 77;
  expect_matrix_error(f, &m, KNNG_ERR_ARGUMENT, "space", "77");
  m.space = KNNG_CUDA;
  expect_matrix_error(f, &m, no_cuda_memory(), "space", "CUDA");
  m = good;
  m.stream = 1;
  if (no_cuda_memory() == KNNG_ERR_UNSUPPORTED) expect_matrix_error(f, &m, KNNG_ERR_UNSUPPORTED, "stream", "CUDA");

  struct {
    knng_matrix known;
    int64_t unknown;
  } newer = {good, 0};
  newer.known.struct_size = sizeof newer;
  knng* h = HANDLE(NULL, NULL);
  expect_ok(knng_add(h, &newer.known, NULL, NULL), "unknown members that are 0");
  knng_destroy(h);
  newer.unknown = 1;
  char first_unknown[32];
  snprintf(first_unknown, sizeof first_unknown, "byte %d", (int)sizeof(knng_matrix));
  expect_matrix_error(f, &newer.known, KNNG_ERR_UNSUPPORTED, first_unknown, "newer");

  m = good;
  m.dtype = KNNG_F64;
  m.rows = 10;
  knng_matrix aligned = m;
  double x[30] = {0};
  aligned.data = x;
  EXPECT_ERROR(knng_add(f->h, &aligned, NULL, &reported), KNNG_ERR_ARGUMENT, "float64", "float32");
}

static void not_finite(void** state) {
  const fixture* f = *state;
  static const int32_t dtypes[] = {KNNG_F32, KNNG_F64, KNNG_F16, KNNG_BF16};
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  for (int t = 0; t < 4; ++t)
    for (int b = 0; b < 3; ++b)
      for (int place = 0; place < 3; ++place) {
        const int64_t n = 50, d = 21,
                      row = place == 0   ? 0
                            : place == 1 ? 33
                                         : 49,
                      col = place == 0   ? 0
                            : place == 1 ? 7
                                         : 20;
        test_rows rows = rows_normal(dtypes[t], n, d, 92);
        encode(dtypes[t], rows.data, row * d + col, bad[b]);
        char r[24], c[24];
        snprintf(r, sizeof r, "%d", (int)row);
        snprintf(c, sizeof c, "%d", (int)col);
        const knng_matrix m = matrix_of(&rows);
        knng* h = HANDLE(NULL, NULL);
        for (int borrow = 0; borrow < 2; ++borrow) {
          EXPECT_ERROR(borrow ? knng_borrow(h, &m, NULL, &reported) : knng_add(h, &m, NULL, &reported), KNNG_ERR_DATA,
                       "row", r, "column", c);
          const knng_error e = reported;
          assert_int_equal(e.row, row);
          assert_int_equal(e.col, col);
        }
        int64_t left = -1;
        expect_ok(knng_shape(h, &left, NULL, NULL, NULL), "knng_shape");
        assert_int_equal(left, 0);
        knng_destroy(h);
        rows_free(&rows);
      }
  (void)f;
}

static void neighbours(void** state) {
  const fixture* f = *state;
  static const int64_t wrong[] = {0, -1, INT64_MIN, 40, 41, 1000000, INT64_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)wrong[i]);
    knng_graph* g = f->g;
    EXPECT_ERROR(knng_build(f->h, wrong[i], NULL, &g, &reported), KNNG_ERR_RANGE, "k=", text);
    assert_null(g);
    if (wrong[i] >= 40) EXPECT_ERROR(knng_build(f->h, wrong[i], NULL, &g, &reported), KNNG_ERR_RANGE, "40");
    const knng_error e = reported;
    assert_string_equal(e.argument, "k");
    assert_true(e.given == wrong[i]);
    knng_plan plan;
    plan.struct_size = sizeof plan;
    EXPECT_ERROR(knng_estimate(f->h, 0, wrong[i], &plan, &reported), KNNG_ERR_RANGE, "k=", text);
  }
  knng_plan plan;
  plan.struct_size = 4;
  EXPECT_ERROR(knng_estimate(f->h, 0, 3, &plan, &reported), KNNG_ERR_ARGUMENT, "struct_size", "4");
  plan.struct_size = sizeof plan;
  EXPECT_ERROR(knng_estimate(f->h, -1, 3, &plan, &reported), KNNG_ERR_RANGE, "nq", "-1");
}

static void handles(void** state) {
  (void)state;
  knng* h = NULL;
  EXPECT_ERROR(knng_create(&h, -1, KNNG_F32, &reported), KNNG_ERR_RANGE, "dim", "-1");
  EXPECT_ERROR(knng_create(&h, (int64_t)1 << 31, KNNG_F32, &reported), KNNG_ERR_RANGE, "dim", "2147483648",
               "2147483647");
  EXPECT_ERROR(knng_create(&h, 3, 0x123, &reported), KNNG_ERR_ARGUMENT, "dtype", "0x123");
  EXPECT_ERROR(knng_create(&h, 3, KNNG_NO_DTYPE, &reported), KNNG_ERR_ARGUMENT, "dtype", "int64");
  assert_null(h);
  expect_ok(knng_create(&h, 2147483647, KNNG_U8, NULL), "the largest dimension");
  knng_destroy(h);
  h = HANDLE(NULL, NULL);
  knng_graph* g = NULL;
  knng_plan plan;
  plan.struct_size = sizeof plan;
  EXPECT_ERROR(knng_build(h, 1, NULL, &g, &reported), KNNG_ERR_STATE, "rows");
  EXPECT_ERROR(knng_estimate(h, 0, 1, &plan, &reported), KNNG_ERR_STATE, "rows");
  test_rows rows = rows_normal(KNNG_F32, 1, 3, 93);
  const knng_matrix m = matrix_of(&rows);
  EXPECT_ERROR(knng_query(h, &m, NULL, 0, 1, NULL, &g, &reported), KNNG_ERR_STATE, "rows");
  expect_ok(knng_add(h, &m, NULL, NULL), "one row");
  EXPECT_ERROR(knng_build(h, 1, NULL, &g, &reported), KNNG_ERR_RANGE, "k=1", "2", "1");
  knng_destroy(h);
  rows_free(&rows);
}

static void data_that_a_metric_cannot_take(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F64, 30, 4, 94);
  knng_graph* g = NULL;
  knng_error e;
  e.struct_size = sizeof e;
  for (int js = 0; js < 2; ++js) {
    ((double*)rows.data)[11 * 4 + 2] = -0.5;
    knng* h = HANDLE(&rows, "device", "cpu", "metric", js ? "jensenshannon" : "hellinger");
    EXPECT_ERROR(knng_build(h, 2, NULL, &g, &reported), KNNG_ERR_DATA, js ? "jensenshannon" : "hellinger", "11", "2",
                 "-0.5");
    e = reported;
    assert_int_equal(e.row, 11);
    assert_int_equal(e.col, 2);
    expect_ok(knng_set(h, "metric", "euclidean", NULL), "euclidean");
    knng_graph_destroy(built(h, 2));
    knng_destroy(h);
    ((double*)rows.data)[11 * 4 + 2] = -0.0; /* no negative value */
    h = HANDLE(&rows, "device", "cpu", "metric", js ? "jensenshannon" : "hellinger");
    knng_graph_destroy(built(h, 2));
    knng_destroy(h);
  }
  for (int t = 0; t < 4; ++t) ((double*)rows.data)[17 * 4 + t] = 0;
  knng* h = HANDLE(&rows, "device", "cpu", "metric", "jensenshannon");
  EXPECT_ERROR(knng_build(h, 2, NULL, &g, &reported), KNNG_ERR_DATA, "jensenshannon", "17");
  e = reported;
  assert_int_equal(e.row, 17);
  knng_destroy(h);
  rows_free(&rows);
}

static void contradictions_and_what_is_not_there(void** state) {
  const fixture* f = *state;
  knng_graph* g = NULL;
  /* Devices are used, or the reason why not is said: never the CPU instead. */
  knng_device first;
  memset(&first, 0, sizeof first);
  first.struct_size = sizeof first;
  expect_ok(knng_device_get(1, &first, NULL), "knng_device_get");
  static const char* const devices[] = {"cuda:0", "cuda:1023"};
  for (int i = 0; i < 2; ++i) {
    knng* asked = HANDLE(&f->rows, "device", devices[i]);
    const knng_status status = knng_build(asked, 6, NULL, &g, NULL);
    if (i == 0 && first.usable) {
      expect_ok(status, devices[i]);
      expect_same_graph(f->g, g, devices[i]);
      knng_graph_destroy(g);
      g = NULL;
    } else {
      char reason[60] = "";
      if (i == 0) snprintf(reason, sizeof reason, "%.50s", first.why_not);
      EXPECT_ERROR(status, KNNG_ERR_DEVICE, "device=", devices[i], reason);
      assert_null(g);
    }
    knng_destroy(asked);
  }
  knng* h = HANDLE(&f->rows, "metric", "euclidean", "value", "similarity");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_OPTION, "value=similarity", "euclidean", "cosine");
  knng_destroy(h);
  assert_null(g);
  /* Explicit requests are met or refused: the fused engine has no filter for these. */
  h = HANDLE(&f->rows, "metric", "manhattan", "engine", "fused");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_UNSUPPORTED, "engine=fused", "manhattan", "engine=auto");
  knng_destroy(h);
  assert_null(g);
  /* Nor have these a selector. */
  static const char* const without[] = {"direct", "fused", "tree"};
  for (int e = 0; e < 3; ++e) {
    h = HANDLE(&f->rows, "device", "cpu", "engine", without[e], "selector", "quick");
    EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_OPTION, "selector=quick", "engine=tiled", without[e]);
    knng_destroy(h);
    assert_null(g);
  }
}

static void words(void** state) {
  const fixture* f = *state;
  double number = 0;
  char buf[64];
  int64_t needed = 0;
  unsigned char bytes[40];
  knng_matrix out = knng_packed(KNNG_U8, 40, 1, bytes);
  knng_sparse* s = NULL;
  EXPECT_ERROR(knng_graph_stat(f->g, "duplicate", &number, &reported), KNNG_ERR_OPTION,
               "seconds_total; did you mean 'duplicates'?");
  EXPECT_ERROR(knng_graph_text(f->g, "engin", NULL, 0, NULL, &reported), KNNG_ERR_OPTION, "did you mean 'engine'?");
  EXPECT_ERROR(knng_graph_stat(f->g, "speed", &number, &reported), KNNG_ERR_OPTION, "speed", "ties_at_k",
               "seconds_total");
  EXPECT_ERROR(knng_graph_text(f->g, "colour", buf, sizeof buf, NULL, &reported), KNNG_ERR_OPTION, "colour",
               "fingerprint", "metric");
  EXPECT_ERROR(knng_graph_text(f->g, "metric", buf, 3, &needed, &reported), KNNG_ERR_RANGE, "3", "10");
  assert_int_equal(needed, 10);
  EXPECT_ERROR(knng_graph_rows(f->g, "hubs", &out, &reported), KNNG_ERR_OPTION, "hubs", "ties", "indegree", "component",
               "proof");
  EXPECT_ERROR(knng_graph_sparse(f->g, "unions", NULL, &s, &reported), KNNG_ERR_OPTION, "unions", "directed", "mutual",
               "snn");
  EXPECT_ERROR(knng_graph_sparse(f->g, "union:median", NULL, &s, &reported), KNNG_ERR_OPTION, "union:median",
               "directed");
  assert_null(s);
  EXPECT_ERROR(knng_graph_save(f->g, "graph.xyz", NULL, NULL, &reported), KNNG_ERR_OPTION, "graph.xyz", "knng", "npz");
  EXPECT_ERROR(knng_graph_save(f->g, "graph.knng", "xyz", NULL, &reported), KNNG_ERR_OPTION, "xyz", "knng", "npz");
  out.rows = 39;
  EXPECT_ERROR(knng_graph_rows(f->g, "ties", &out, &reported), KNNG_ERR_ARGUMENT, "39", "40");
  out.rows = 40;
  out.dtype = KNNG_F32;
  EXPECT_ERROR(knng_graph_rows(f->g, "ties", &out, &reported), KNNG_ERR_ARGUMENT, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outputs_apart),
      cmocka_unit_test(rows_that_changed),
      cmocka_unit_test(null_pointers),
      cmocka_unit_test(matrices),
      cmocka_unit_test(not_finite),
      cmocka_unit_test(neighbours),
      cmocka_unit_test(handles),
      cmocka_unit_test(data_that_a_metric_cannot_take),
      cmocka_unit_test(contradictions_and_what_is_not_there),
      cmocka_unit_test(words),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
