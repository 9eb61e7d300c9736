/* What a graph shows: views, copies in other types, bases and layouts, numbers per row, statistics, texts, imports. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

enum { n = 150, k = 7 };

static knng_graph* tied_graph(void) {
  test_rows rows = rows_grid(KNNG_F32, n, 3, 4, 101);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, k);
  knng_destroy(h);
  rows_free(&rows); /* a graph needs neither */
  return g;
}

static void views_are_packed(void** state) {
  (void)state;
  knng_graph* g = tied_graph();
  knng_matrix ids = knng_packed(KNNG_U8, 0, 0, NULL), values = ids;
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  assert_true(ids.dtype == KNNG_I64 && values.dtype == KNNG_F32);
  assert_true(ids.space == KNNG_HOST && ids.rows == n && ids.cols == k && ids.row_stride == k && ids.col_stride == 1);
  assert_true(values.rows == n && values.cols == k && values.row_stride == k && values.col_stride == 1);
  assert_int_equal(ids.struct_size, sizeof ids);
  const float* v = values.data;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j) {
      const int64_t id = ((int64_t*)ids.data)[i * k + j];
      assert_true(id >= 0 && id < n && id != i);
      if (j > 0) {
        assert_true(v[i * k + j] >= v[i * k + j - 1]);
        if (v[i * k + j] == v[i * k + j - 1]) assert_true(id > ((int64_t*)ids.data)[i * k + j - 1]);
      }
    }
  knng_graph_destroy(g);
}

static void copies_in_any_type_and_layout(void** state) {
  (void)state;
  knng_graph* g = tied_graph();
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL), values = ids;
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  static const int32_t id_types[] = {KNNG_I16, KNNG_U16, KNNG_I32, KNNG_I64};
  static const int32_t value_types[] = {KNNG_F64, KNNG_F32, KNNG_F16, KNNG_BF16};
  for (int t = 0; t < 4; ++t)
    for (int base = 0; base < 2; ++base)
      for (int columns = 0; columns < 2; ++columns) {
        static int64_t id_memory[n * k];
        static double value_memory[n * k];
        memset(id_memory, 0, sizeof id_memory);
        knng_matrix i = knng_packed(id_types[t], n, k, id_memory), v = knng_packed(value_types[t], n, k, value_memory);
        if (columns) {
          i.row_stride = v.row_stride = 1;
          i.col_stride = v.col_stride = n;
        }
        expect_ok(knng_graph_copy(g, base, &i, &v, NULL), "copy");
        for (int64_t r = 0; r < n; ++r)
          for (int64_t c = 0; c < k; ++c) {
            const int64_t at = columns ? c * n + r : r * k + c, expected = ((int64_t*)ids.data)[r * k + c] + base;
            const int64_t got = id_types[t] == KNNG_I16   ? ((int16_t*)(void*)id_memory)[at]
                                : id_types[t] == KNNG_U16 ? ((uint16_t*)(void*)id_memory)[at]
                                : id_types[t] == KNNG_I32 ? ((int32_t*)(void*)id_memory)[at]
                                                          : id_memory[at];
            assert_int_equal(got, expected);
            double rounded[1];
            encode(value_types[t], rounded, 0, (double)((float*)values.data)[r * k + c]);
            assert_true(decode(value_types[t], value_memory, at) == decode(value_types[t], rounded, 0));
          }
      }
  int64_t small[1];
  knng_matrix wrong = knng_packed(KNNG_I64, n, k - 1, small);
  EXPECT_ERROR(knng_graph_copy(g, 0, &wrong, NULL, &reported), KNNG_ERR_ARGUMENT, "6", "7");
  wrong = knng_packed(KNNG_F32, n, k, small);
  EXPECT_ERROR(knng_graph_copy(g, 0, &wrong, NULL, &reported), KNNG_ERR_ARGUMENT, "float32");
  wrong = knng_packed(KNNG_I32, n, k, small);
  EXPECT_ERROR(knng_graph_copy(g, 0, NULL, &wrong, &reported), KNNG_ERR_ARGUMENT, "int32");
  wrong = knng_packed(KNNG_I64, n, k, small);
  EXPECT_ERROR(knng_graph_copy(g, 2, &wrong, NULL, &reported), KNNG_ERR_RANGE, "base=2", "0 or 1");
  wrong.space = KNNG_CUDA;
  expect_ok(knng_graph_copy(g, 0, NULL, NULL, NULL), "nothing to copy");
  EXPECT_ERROR(knng_graph_copy(g, 0, &wrong, NULL, &reported), no_cuda_memory(), "CUDA");
  expect_ok(knng_graph_copy(g, 0, NULL, NULL, NULL), "nothing to copy");
  knng_graph_destroy(g);
}

static void copies_refuse_what_does_not_fit(void** state) {
  (void)state;
  static const int64_t ids[] = {5, 32767, 40000, 65535, -1};
  static const double values[] = {1, 2, 60000, 70000, INFINITY};
  const knng_matrix im = knng_packed(KNNG_I64, 1, 5, ids), vm = knng_packed(KNNG_F64, 1, 5, values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, &vm, 0, 65536, 0, NULL), "import");
  union {
    int64_t align;
    int32_t i32[5];
    int16_t i16[5];
  } out;
  knng_matrix m = knng_packed(KNNG_I32, 1, 5, &out);
  expect_ok(knng_graph_copy(g, 0, &m, NULL, NULL), "int32");
  assert_int_equal(out.i32[3], 65535);
  assert_int_equal(out.i32[4], -1);
  expect_ok(knng_graph_copy(g, 1, &m, NULL, NULL), "int32 from 1");
  assert_int_equal(out.i32[3], 65536);
  assert_int_equal(out.i32[4], 0);
  m.dtype = KNNG_I16;
  EXPECT_ERROR(knng_graph_copy(g, 0, &m, NULL, &reported), KNNG_ERR_RANGE, "40000", "32767");
  m.dtype = KNNG_U16;
  EXPECT_ERROR(knng_graph_copy(g, 0, &m, NULL, &reported), KNNG_ERR_RANGE, "-1");
  EXPECT_ERROR(knng_graph_copy(g, 1, &m, NULL, &reported), KNNG_ERR_RANGE, "65536", "65535");
  m.dtype = KNNG_F16;
  EXPECT_ERROR(knng_graph_copy(g, 0, NULL, &m, &reported), KNNG_ERR_RANGE, "70000");
  m.dtype = KNNG_BF16;
  expect_ok(knng_graph_copy(g, 0, NULL, &m, NULL), "bfloat16");
  assert_true(isinf(decode(KNNG_BF16, &out, 4)));
  knng_graph_destroy(g);
}

static int64_t root(int64_t* parent, int64_t i) {
  while (parent[i] != i) i = parent[i];
  return i;
}

static void numbers_per_row(void** state) {
  (void)state;
  /* Two groups far apart, so that there is more than one component. */
  test_rows rows = rows_grid(KNNG_F32, n, 3, 4, 102);
  for (int64_t i = 0; i < n; ++i)
    if (i % 3 == 1) ((float*)rows.data)[i * 3] += 1000;
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, k);
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL);
  expect_ok(knng_graph_view(g, &ids, NULL, NULL), "view");
  int64_t degree[n] = {0}, parent[n], component[n], number = 0;
  for (int64_t i = 0; i < n; ++i) parent[i] = i;
  for (int64_t e = 0; e < n * k; ++e) {
    const int64_t i = e / k, j = ((int64_t*)ids.data)[e];
    ++degree[j];
    const int64_t a = root(parent, i), b = root(parent, j);
    parent[a > b ? a : b] = a < b ? a : b;
  }
  for (int64_t i = 0; i < n; ++i) component[i] = root(parent, i) == i ? number++ : component[root(parent, i)];
  assert_true(number >= 2);
  static const int32_t types[] = {KNNG_I64, KNNG_I32, KNNG_I16, KNNG_U16, KNNG_U8, KNNG_I8, KNNG_U32, KNNG_U64};
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    union {
      int64_t i64[n];
      uint64_t u64[n];
      uint32_t u32[n];
      int32_t i32[n];
      int16_t i16[n];
      uint16_t u16[n];
      uint8_t u8[n];
      int8_t i8[n];
    } out;
    knng_matrix m = knng_packed(types[t], n, 1, &out);
    for (int what = 0; what < 2; ++what) {
      expect_ok(knng_graph_rows(g, what ? "component" : "indegree", &m, NULL), "knng_graph_rows");
      for (int64_t i = 0; i < n; ++i) {
        const int64_t got = types[t] == KNNG_I64   ? out.i64[i]
                            : types[t] == KNNG_I32 ? out.i32[i]
                            : types[t] == KNNG_I16 ? out.i16[i]
                            : types[t] == KNNG_U16 ? out.u16[i]
                            : types[t] == KNNG_U64 ? (int64_t)out.u64[i]
                            : types[t] == KNNG_U32 ? (int64_t)out.u32[i]
                            : types[t] == KNNG_U8  ? out.u8[i]
                                                   : out.i8[i];
        assert_int_equal(got, what ? component[i] : degree[i]);
      }
    }
    expect_ok(knng_graph_rows(g, "proof", &m, NULL), "proof");
    for (int64_t i = 0; i < n; ++i)
      if (types[t] == KNNG_U8) assert_int_equal(out.u8[i], 4);
  }
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

/* A star: one row is everybody's neighbour, more often than a byte can say. */
static void numbers_that_do_not_fit(void** state) {
  (void)state;
  enum { points = 300 };
  int64_t ids[points];
  for (int64_t i = 0; i < points; ++i) ids[i] = i == 7 ? 8 : 7;
  const knng_matrix m = knng_packed(KNNG_I64, points, 1, ids);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &m, NULL, 0, points, 1, NULL), "import");
  uint16_t wide[points];
  uint8_t bytes[points];
  knng_matrix out = knng_packed(KNNG_U16, points, 1, wide);
  expect_ok(knng_graph_rows(g, "indegree", &out, NULL), "indegree");
  assert_int_equal(wide[7], 299);
  assert_int_equal(wide[8], 1);
  assert_int_equal(wide[9], 0);
  out = knng_packed(KNNG_U8, points, 1, bytes);
  EXPECT_ERROR(knng_graph_rows(g, "indegree", &out, &reported), KNNG_ERR_RANGE, "299");
  expect_ok(knng_graph_rows(g, "proof", &out, NULL), "proof");
  for (int i = 0; i < points; ++i) assert_int_equal(bytes[i], 0);
  knng_graph_destroy(g);
}

static void statistics_tell_what_happened(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, n, 3, 4, 103);
  int64_t duplicates = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (memcmp(rows.x + i * 3, rows.x + j * 3, 3 * sizeof(double)) == 0) {
        ++duplicates;
        break;
      }
  /* engine=direct evaluates equal rows one by one. */
  knng* h = HANDLE(&rows, "device", "cpu", "metric", "cosine", "engine", "direct");
  knng_graph* g = built(h, k);
  assert_true(stat_of(g, "rows") == n && stat_of(g, "columns") == n && stat_of(g, "duplicates") == (double)duplicates);
  assert_true(duplicates > 10);
  unsigned char ties[n];
  knng_matrix out = knng_packed(KNNG_U8, n, 1, ties);
  expect_ok(knng_graph_rows(g, "ties", &out, NULL), "ties");
  int tied = 0;
  for (int i = 0; i < n; ++i) tied += ties[i];
  assert_true(tied > 0 && stat_of(g, "ties_at_k") == tied);
  assert_true(stat_of(g, "proved") == n && stat_of(g, "bound_violations") == 0);
  assert_true(stat_of(g, "pairs") == n * (n - 1) / 2 && stat_of(g, "tiles") >= 1);
  assert_true(stat_of(g, "seconds_total") > 0 && stat_of(g, "seconds_total") >= stat_of(g, "seconds_tile"));
  assert_true(stat_of(g, "bytes_host_peak") >= n * 3 * 4 + n * k * 12 && stat_of(g, "bytes_device_peak") == 0);

  char text[160];
  static const char* const texts[][2] = {
      {"metric", "cosine"}, {"precision", "exact"}, {"engine", "direct"}, {"value", "distance"}, {"self", "exclude"}};
  for (int i = 0; i < 5; ++i) {
    int64_t needed = 0;
    expect_ok(knng_graph_text(g, texts[i][0], text, sizeof text, &needed, NULL), texts[i][0]);
    assert_string_equal(text, texts[i][1]);
    assert_int_equal(needed, (int64_t)strlen(texts[i][1]) + 1);
  }
  expect_ok(knng_graph_text(g, "device", text, sizeof text, NULL, NULL), "device");
  assert_memory_equal(text, "cpu", 3);
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", KNNG_HEADER_VERSION >> 16, KNNG_HEADER_VERSION >> 8 & 255,
           KNNG_HEADER_VERSION & 255);
  expect_ok(knng_graph_text(g, "version", text, sizeof text, NULL, NULL), "version");
  assert_string_equal(text, version);
  expect_ok(knng_graph_text(g, "fingerprint", text, sizeof text, NULL, NULL), "fingerprint");
  assert_int_equal(strlen(text), 32);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static void imports_are_checked(void** state) {
  (void)state;
  int32_t ids[] = {1, 2, /**/ 0, 2, /**/ 0, -1};
  float values[] = {1, 2, /**/ 1, 3, /**/ 2, INFINITY};
  knng_matrix im = knng_packed(KNNG_I32, 3, 2, ids), vm = knng_packed(KNNG_F32, 3, 2, values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, &vm, 0, 3, 1, NULL), "import");
  knng_matrix i = knng_packed(KNNG_I64, 0, 0, NULL), v = i;
  expect_ok(knng_graph_view(g, &i, &v, NULL), "view");
  for (int e = 0; e < 6; ++e) {
    assert_int_equal(((int64_t*)i.data)[e], ids[e]);
    assert_true(((float*)v.data)[e] == values[e]);
  }
  /* Nobody counted: not known, which is another thing than 0. */
  const char* name = NULL;
  for (int32_t s = 0; knng_stat_name(s, &name, NULL, NULL) == KNNG_OK; ++s)
    assert_int_equal(isnan(stat_of(g, name)) != 0, strcmp(name, "rows") != 0 && strcmp(name, "columns") != 0);
  int64_t component[3];
  knng_matrix out = knng_packed(KNNG_I64, 3, 1, component);
  EXPECT_ERROR(knng_graph_rows(g, "ties", &out, &reported), KNNG_ERR_STATE, "ties");
  expect_ok(knng_graph_rows(g, "component", &out, NULL), "component");
  assert_true(component[0] == 0 && component[1] == 0 && component[2] == 0);
  knng_graph_destroy(g);

  expect_ok(knng_graph_import(&g, &im, NULL, 0, 3, 1, NULL), "import without values");
  expect_ok(knng_graph_view(g, NULL, &v, NULL), "view");
  for (int e = 0; e < 5; ++e) assert_true(decode(v.dtype, v.data, e) == 0);
  knng_graph_destroy(g);

  ids[3] = 3; /* more columns than rows: a graph of queries */
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 1, &reported), KNNG_ERR_DATA, "3", "row 1");
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 4, 1, &reported), KNNG_ERR_RANGE, "columns=4", "3");
  expect_ok(knng_graph_import(&g, &im, &vm, 0, 4, 0, NULL), "import");
  int64_t rows = 0, columns = 0, width = 0;
  int32_t same_points = -1;
  expect_ok(knng_graph_shape(g, &rows, &columns, &width, &same_points, NULL), "shape");
  assert_true(rows == 3 && columns == 4 && width == 2 && same_points == 0);
  EXPECT_ERROR(knng_graph_rows(g, "component", &out, &reported), KNNG_ERR_STATE, "component");
  int64_t degree[4];
  out = knng_packed(KNNG_I64, 4, 1, degree);
  expect_ok(knng_graph_rows(g, "indegree", &out, NULL), "indegree");
  assert_true(degree[0] == 2 && degree[3] == 1);
  knng_graph_destroy(g);
  g = NULL;

  ids[3] = -2;
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 1, &reported), KNNG_ERR_DATA, "-2", "row 1");
  ids[3] = 0;
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 1, &reported), KNNG_ERR_DATA, "row 1");
  ids[3] = 2;
  values[3] = NAN;
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 1, &reported), KNNG_ERR_DATA, "row 1", "column 1");
  values[3] = 3;
  values[5] = 7; /* no neighbour, but a distance */
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 1, &reported), KNNG_ERR_DATA, "row 2");
  values[5] = INFINITY;
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 2, 3, 1, &reported), KNNG_ERR_RANGE, "base=2");
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 0, 0, &reported), KNNG_ERR_RANGE, "columns=0");
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 2, &reported), KNNG_ERR_ARGUMENT, "same_points=2");
  vm.cols = 1;
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 1, &reported), KNNG_ERR_ARGUMENT, "values");
  vm.cols = 2;
  im.dtype = KNNG_F32;
  EXPECT_ERROR(knng_graph_import(&g, &im, &vm, 0, 3, 1, &reported), KNNG_ERR_ARGUMENT, "ids", "float32");
  assert_null(g);
}

/* Ids from 1 and short rows, as R, Julia and Fortran have them: nothing is guessed. */
static void imports_count_from_where_they_are_told(void** state) {
  (void)state;
  int32_t ids[] = {2, 3, /**/ 1, 3, /**/ 1, 0};
  const knng_matrix im = knng_packed(KNNG_I32, 3, 2, ids);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, NULL, 1, 3, 1, NULL), "import");
  static const int64_t expected[] = {1, 2, 0, 2, 0, -1};
  knng_matrix i = knng_packed(KNNG_I64, 0, 0, NULL);
  expect_ok(knng_graph_view(g, &i, NULL, NULL), "view");
  assert_memory_equal(i.data, expected, sizeof expected);
  knng_graph_destroy(g);
  g = NULL;
  EXPECT_ERROR(knng_graph_import(&g, &im, NULL, 0, 3, 1, &reported), KNNG_ERR_DATA, "3");
  /* Queries whose ids are all below their number are no rows. */
  expect_ok(knng_graph_import(&g, &im, NULL, 1, 3, 0, NULL), "import of queries");
  int32_t same_points = -1;
  expect_ok(knng_graph_shape(g, NULL, NULL, NULL, &same_points, NULL), "shape");
  assert_int_equal(same_points, 0);
  knng_sparse* s = NULL;
  EXPECT_ERROR(knng_graph_sparse(g, "union", NULL, &s, &reported), KNNG_ERR_STATE, "queries");
  knng_graph_destroy(g);
  ids[5] = -1;
  g = NULL;
  EXPECT_ERROR(knng_graph_import(&g, &im, NULL, 1, 3, 0, &reported), KNNG_ERR_DATA, "-1", "row 2");
  assert_null(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(views_are_packed),
      cmocka_unit_test(copies_in_any_type_and_layout),
      cmocka_unit_test(copies_refuse_what_does_not_fit),
      cmocka_unit_test(numbers_per_row),
      cmocka_unit_test(numbers_that_do_not_fit),
      cmocka_unit_test(statistics_tell_what_happened),
      cmocka_unit_test(imports_are_checked),
      cmocka_unit_test(imports_count_from_where_they_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
