/* Rows of a data set: copied, borrowed, shared, read back; any strides, several chunks, every element type. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static void expect_shape(const knng* h, int64_t rows, int64_t dim, int32_t dtype) {
  int64_t n = -1, d = -1;
  int32_t type = -1;
  expect_ok(knng_shape(h, &n, &d, &type, NULL), "knng_shape");
  assert_int_equal(n, rows);
  assert_int_equal(d, dim);
  assert_int_equal(type, dtype);
  expect_ok(knng_shape(h, NULL, NULL, NULL, NULL), "knng_shape");
}

static void expect_rows(const knng* h, int64_t first, int64_t count, int64_t d, const double* x) {
  double* back = malloc((size_t)(count * d) * sizeof(double));
  assert_non_null(back);
  knng_matrix m = knng_packed(KNNG_F64, count, d, back);
  expect_ok(knng_read(h, first, &m, NULL), "knng_read");
  assert_memory_equal(back, x, (size_t)(count * d) * sizeof(double));
  free(back);
}

static void empty_handles_are_open(void** state) {
  (void)state;
  knng* h = NULL;
  expect_ok(knng_create(&h, 0, 0, NULL), "create");
  expect_shape(h, 0, 0, 0);
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 1, NULL, &g, &reported), KNNG_ERR_STATE, "rows");
  knng_destroy(h);
  expect_ok(knng_create(&h, 3, 0, NULL), "create");
  expect_shape(h, 0, 3, 0);
  knng_destroy(h);
  expect_ok(knng_create(&h, 0, KNNG_I8, NULL), "create");
  expect_shape(h, 0, 0, KNNG_I8);
  test_rows rows = rows_normal(KNNG_F32, 4, 3, 1);
  const knng_matrix m = matrix_of(&rows);
  EXPECT_ERROR(knng_add(h, &m, NULL, &reported), KNNG_ERR_ARGUMENT, "float32", "int8");
  expect_shape(h, 0, 0, KNNG_I8);
  knng_destroy(h);
  knng_destroy(NULL);
  rows_free(&rows);
}

static void every_type_comes_back_exactly(void** state) {
  (void)state;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    test_rows a = rows_normal(row_dtypes[t], 13, 7, 1), b = rows_normal(row_dtypes[t], 5, 7, 2);
    knng* h = HANDLE(&a, NULL);
    expect_shape(h, 13, 7, row_dtypes[t]);
    const knng_matrix m = matrix_of(&b);
    expect_ok(knng_add(h, &m, NULL, NULL), "second chunk");
    expect_shape(h, 18, 7, row_dtypes[t]);
    expect_rows(h, 0, 13, 7, a.x);
    expect_rows(h, 13, 5, 7, b.x);
    double both[4 * 7];
    memcpy(both, a.x + 11 * 7, 2 * 7 * sizeof(double));
    memcpy(both + 2 * 7, b.x, 2 * 7 * sizeof(double));
    expect_rows(h, 11, 4, 7, both);
    /* In its own type: the same bytes. */
    void* back = malloc((size_t)(13 * 7 * dtype_size(row_dtypes[t])));
    knng_matrix same = knng_packed(row_dtypes[t], 13, 7, back);
    expect_ok(knng_read(h, 0, &same, NULL), "own type");
    assert_memory_equal(back, a.data, (size_t)(13 * 7 * dtype_size(row_dtypes[t])));
    free(back);
    /* The caller's memory may change once it is copied. */
    memset(a.data, 0, (size_t)(13 * 7 * dtype_size(row_dtypes[t])));
    expect_rows(h, 0, 13, 7, a.x);
    knng_destroy(h);
    rows_free(&a);
    rows_free(&b);
  }
}

static void any_strides_will_do(void** state) {
  (void)state;
  for (int t = 0; t < ROW_DTYPES; ++t) {
    const int64_t n = 9, d = 5, size = dtype_size(row_dtypes[t]);
    test_rows rows = rows_normal(row_dtypes[t], n, d, 3);
    struct {
      int64_t row_stride, col_stride, first;
    } const layouts[] = {{d, 1, 0},           {1, n, 0}, {d + 3, 1, 2}, {2 * d, 2, 1}, {-d, 1, (n - 1) * d},
                         {1, -n, (d - 1) * n}};
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; ++l) {
      char* memory = calloc(1, (size_t)(4 * n * d * size));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < d; ++j)
          memcpy(memory + (layouts[l].first + i * layouts[l].row_stride + j * layouts[l].col_stride) * size,
                 (char*)rows.data + (i * d + j) * size, (size_t)size);
      knng_matrix m = knng_packed(row_dtypes[t], n, d, memory + layouts[l].first * size);
      m.row_stride = layouts[l].row_stride;
      m.col_stride = layouts[l].col_stride;
      knng* h = HANDLE(NULL, NULL);
      expect_ok(knng_add(h, &m, NULL, NULL), "knng_add");
      expect_ok(knng_borrow(h, &m, NULL, NULL), "knng_borrow");
      expect_shape(h, 2 * n, d, row_dtypes[t]);
      expect_rows(h, 0, n, d, rows.x);
      expect_rows(h, n, n, d, rows.x);
      /* And back into such memory. */
      memset(memory, 0, (size_t)(4 * n * d * size));
      knng* copy = HANDLE(&rows, NULL);
      expect_ok(knng_read(copy, 0, &m, NULL), "knng_read");
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < d; ++j)
          assert_memory_equal(
              memory + (layouts[l].first + i * layouts[l].row_stride + j * layouts[l].col_stride) * size,
              (char*)rows.data + (i * d + j) * size, (size_t)size);
      knng_destroy(copy);
      knng_destroy(h);
      free(memory);
    }
    rows_free(&rows);
  }
}

static void layout_does_not_change_the_graph(void** state) {
  (void)state;
  const int64_t n = 61, d = 6;
  test_rows rows = rows_normal(KNNG_F32, n, d, 4);
  float* columns = malloc((size_t)(n * d) * sizeof(float));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < d; ++j) columns[j * n + i] = ((float*)rows.data)[i * d + j];
  knng *packed = HANDLE(&rows, "device", "cpu"), *chunks = HANDLE(NULL, "device", "cpu");
  int64_t first = 0;
  for (int64_t count = 1; first < n; first += count, count = 2 * count + 1) {
    knng_matrix m = knng_packed(KNNG_F32, first + count < n ? count : n - first, d, columns + first);
    m.row_stride = 1;
    m.col_stride = n;
    expect_ok(first % 2 ? knng_add(chunks, &m, NULL, NULL) : knng_borrow(chunks, &m, NULL, NULL), "chunk");
  }
  expect_shape(chunks, n, d, KNNG_F32);
  knng_graph *a = built(packed, 5), *b = built(chunks, 5);
  expect_same_graph(a, b, "packed and chunks of columns");
  knng_graph_destroy(a);
  knng_graph_destroy(b);
  knng_destroy(packed);
  knng_destroy(chunks);
  free(columns);
  rows_free(&rows);
}

static void count_release(void* owner) { ++*(int*)owner; }

static void borrowed_rows_are_released_once(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F64, 10, 3, 5);
  int released = 0;
  knng_matrix m = matrix_of(&rows);
  m.release = count_release;
  m.owner = &released;

  knng *h = HANDLE(NULL, "device", "cpu"), *second = NULL;
  expect_ok(knng_borrow(h, &m, NULL, NULL), "knng_borrow");
  expect_rows(h, 0, 10, 3, rows.x);
  expect_ok(knng_share(&second, h, NULL), "knng_share");
  knng_graph* g = built(h, 2);
  knng_destroy(h);
  assert_int_equal(released, 0);
  expect_rows(second, 0, 10, 3, rows.x);
  knng_destroy(second);
  assert_int_equal(released, 1);
  knng_graph_destroy(g);
  assert_int_equal(released, 1);

  /* Not for a call that failed. */
  released = 0;
  h = HANDLE(NULL, NULL);
  ((double*)rows.data)[4] = NAN;
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_DATA, "1");
  ((double*)rows.data)[4] = 0;
  m.cols = 0;
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_RANGE, "0");
  m.cols = 3;
  knng_destroy(h);
  assert_int_equal(released, 0);

  /* knng_add copies and never releases. */
  h = HANDLE(NULL, NULL);
  expect_ok(knng_add(h, &m, NULL, NULL), "knng_add");
  knng_destroy(h);
  assert_int_equal(released, 0);
  rows_free(&rows);
}

typedef struct lent {
  int released;
  pthread_t by;
} lent;
static void note_release(void* owner) {
  ((lent*)owner)->released++;
  ((lent*)owner)->by = pthread_self();
}
static void* destroy_handle(void* h) {
  knng_destroy(h);
  return NULL;
}

/* As the header says: runtimes that need a lock of theirs in a callback know which thread takes it. */
static void the_last_handle_s_thread_releases(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 3, 8);
  lent of = {0};
  knng_matrix m = matrix_of(&rows);
  m.release = note_release;
  m.owner = &of;
  knng *h = HANDLE(NULL, "device", "cpu"), *second = NULL;
  expect_ok(knng_borrow(h, &m, NULL, NULL), "knng_borrow");
  expect_ok(knng_share(&second, h, NULL), "knng_share");
  knng_graph_destroy(built(h, 2)); /* whose threads have let the rows go */
  pthread_t first, last;
  assert_int_equal(pthread_create(&first, NULL, destroy_handle, h), 0);
  pthread_join(first, NULL);
  assert_int_equal(of.released, 0);
  assert_int_equal(pthread_create(&last, NULL, destroy_handle, second), 0);
  pthread_join(last, NULL);
  assert_int_equal(of.released, 1);
  assert_true(pthread_equal(of.by, last));
  rows_free(&rows);
}

static void destroy_does_not_read_borrowed_rows(void** state) {
  (void)state;
  float* x = malloc(20 * sizeof(float));
  for (int i = 0; i < 20; ++i) x[i] = (float)i;
  knng* h = HANDLE(NULL, NULL);
  const knng_matrix m = knng_packed(KNNG_F32, 10, 2, x);
  expect_ok(knng_borrow(h, &m, NULL, NULL), "knng_borrow");
  free(x); /* the address sanitizer sees a read */
  knng_destroy(h);
}

static void shared_handles_go_their_own_ways(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 20, 3, 6), more = rows_normal(KNNG_F32, 4, 3, 7);
  knng *h = HANDLE(&rows, "metric", "cosine", "device", "cpu"), *s = NULL;
  expect_ok(knng_share(&s, h, NULL), "knng_share");
  char buf[32];
  expect_ok(knng_get(s, "metric", buf, sizeof buf, NULL, NULL), "metric");
  assert_string_equal(buf, "cosine");
  expect_ok(knng_set(s, "metric", "manhattan", NULL), "metric");
  expect_ok(knng_get(h, "metric", buf, sizeof buf, NULL, NULL), "metric");
  assert_string_equal(buf, "cosine");
  const knng_matrix m = matrix_of(&more);
  expect_ok(knng_add(s, &m, NULL, NULL), "knng_add");
  expect_shape(s, 24, 3, KNNG_F32);
  expect_shape(h, 20, 3, KNNG_F32);
  expect_ok(knng_add(h, &m, NULL, NULL), "knng_add");
  expect_rows(h, 20, 4, 3, more.x);
  knng_destroy(h);
  expect_rows(s, 0, 20, 3, rows.x);
  expect_rows(s, 20, 4, 3, more.x);
  knng_destroy(s);
  EXPECT_ERROR(knng_share(&s, NULL, &reported), KNNG_ERR_ARGUMENT, "h");
  assert_null(s);
  rows_free(&rows);
  rows_free(&more);
}

static void reading_converts_or_refuses(void** state) {
  (void)state;
  const double values[] = {0, 1, 2, 3, 127, -128, 0.5, 300, 1e10, 1e-10, 65504, 70000};
  knng* h = HANDLE(NULL, NULL);
  const knng_matrix m = knng_packed(KNNG_F64, 12, 1, values);
  expect_ok(knng_add(h, &m, NULL, NULL), "knng_add");
  struct {
    int32_t dtype;
    int64_t good; /* rows that can be converted, from the first on */
  } const cases[] = {{KNNG_BOOL, 2},  {KNNG_U8, 5},   {KNNG_U16, 5}, {KNNG_U32, 5}, {KNNG_U64, 5},
                     {KNNG_I8, 6},    {KNNG_I16, 6},  {KNNG_I32, 6}, {KNNG_I64, 6}, {KNNG_F16, 8},
                     {KNNG_BF16, 12}, {KNNG_F32, 12}, {KNNG_F64, 12}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    union {
      double align;
      unsigned char bytes[12 * 8];
    } back;
    knng_matrix dst = knng_packed(cases[c].dtype, cases[c].good, 1, back.bytes);
    expect_ok(knng_read(h, 0, &dst, NULL), dtype_label(cases[c].dtype));
    for (int64_t i = 0; i < cases[c].good; ++i) {
      double expected[1];
      encode(cases[c].dtype, expected, 0, values[i]);
      assert_memory_equal(back.bytes + i * dtype_size(cases[c].dtype), expected, (size_t)dtype_size(cases[c].dtype));
    }
    if (cases[c].good == 12) continue;
    dst.rows = 12;
    EXPECT_ERROR(knng_read(h, 0, &dst, &reported), KNNG_ERR_RANGE, "row");
    const knng_error e = reported;
    assert_int_equal(e.row, cases[c].good);
    assert_int_equal(e.col, 0);
  }
  double one[2];
  knng_matrix dst = knng_packed(KNNG_F64, 1, 1, one);
  EXPECT_ERROR(knng_read(h, 12, &dst, &reported), KNNG_ERR_RANGE, "12");
  EXPECT_ERROR(knng_read(h, -1, &dst, &reported), KNNG_ERR_RANGE, "-1");
  EXPECT_ERROR(knng_read(h, INT64_MAX, &dst, &reported), KNNG_ERR_RANGE, "12");
  dst.cols = 2;
  EXPECT_ERROR(knng_read(h, 0, &dst, &reported), KNNG_ERR_ARGUMENT, "2", "1");
  EXPECT_ERROR(knng_read(h, 0, NULL, &reported), KNNG_ERR_ARGUMENT, "dst");
  dst = knng_packed(0x0aa, 1, 1, one);
  EXPECT_ERROR(knng_read(h, 0, &dst, &reported), KNNG_ERR_ARGUMENT, "0x0aa");
  knng_destroy(h);
}

/* fp64 has the power of two behind the largest value of these types, not the value. */
static void reading_stops_at_the_edges_of_integers(void** state) {
  (void)state;
  static const struct {
    int32_t dtype;
    double below, least, most, beyond;
  } cases[] = {{KNNG_I64, -0x1.0000000000001p63, -0x1p63, 0x1.fffffffffffffp62, 0x1p63},
               {KNNG_U64, -1, 0, 0x1.fffffffffffffp63, 0x1p64},
               {KNNG_I32, -2147483649.0, -2147483648.0, 2147483647, 2147483648.0},
               {KNNG_U32, -1, 0, 4294967295.0, 4294967296.0},
               {KNNG_I16, -32769, -32768, 32767, 32768},
               {KNNG_U16, -1, 0, 65535, 65536},
               {KNNG_BOOL, -1, 0, 1, 2}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    knng* h = HANDLE(NULL, NULL);
    const double values[] = {cases[c].least, cases[c].most, cases[c].below, cases[c].beyond, 0.5};
    const knng_matrix m = knng_packed(KNNG_F64, 5, 1, values);
    expect_ok(knng_add(h, &m, NULL, NULL), "knng_add");
    for (int64_t i = 0; i < 5; ++i) {
      double room;
      knng_matrix dst = knng_packed(cases[c].dtype, 1, 1, &room);
      if (i >= 2) {
        EXPECT_ERROR(knng_read(h, i, &dst, &reported), KNNG_ERR_RANGE,
                     dtype_label(cases[c].dtype)[0] == 'b' ? "bool" : "int");
      } else {
        expect_ok(knng_read(h, i, &dst, NULL), dtype_label(cases[c].dtype));
        assert_true(decode(cases[c].dtype, &room, 0) == values[i]);
      }
    }
    knng_destroy(h);
  }
}

static void failed_additions_change_nothing(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 20, 3, 8), bad = rows_normal(KNNG_F32, 20, 3, 9);
  ((float*)bad.data)[19 * 3 + 1] = NAN;
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* before = built(h, 4);
  const knng_matrix m = matrix_of(&bad);
  EXPECT_ERROR(knng_add(h, &m, NULL, &reported), KNNG_ERR_DATA, "19", "1");
  EXPECT_ERROR(knng_borrow(h, &m, NULL, &reported), KNNG_ERR_DATA, "19", "1");
  expect_shape(h, 20, 3, KNNG_F32);
  knng_graph* after = built(h, 4);
  expect_same_graph(before, after, "before and after");
  knng_graph_destroy(before);
  knng_graph_destroy(after);
  knng_destroy(h);
  rows_free(&rows);
  rows_free(&bad);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_handles_are_open),
      cmocka_unit_test(every_type_comes_back_exactly),
      cmocka_unit_test(any_strides_will_do),
      cmocka_unit_test(layout_does_not_change_the_graph),
      cmocka_unit_test(borrowed_rows_are_released_once),
      cmocka_unit_test(the_last_handle_s_thread_releases),
      cmocka_unit_test(destroy_does_not_read_borrowed_rows),
      cmocka_unit_test(shared_handles_go_their_own_ways),
      cmocka_unit_test(reading_converts_or_refuses),
      cmocka_unit_test(reading_stops_at_the_edges_of_integers),
      cmocka_unit_test(failed_additions_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
