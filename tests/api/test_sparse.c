/* Sparse forms against their definitions, entry by entry, over dense matrices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

enum { n = 90, k = 6 };

/* present: n x n; value: n x n. */
static void expect_sparse(const knng_graph* g, const char* rule, int64_t rows, int64_t columns, const char* present,
                          const double* value, int32_t dtype) {
  knng_sparse* s = NULL;
  expect_ok(knng_graph_sparse(g, rule, NULL, &s, NULL), rule);
  knng_matrix indptr = knng_packed(KNNG_I64, 0, 0, NULL), row = indptr, col = indptr, values = indptr;
  expect_ok(knng_sparse_view(s, &indptr, &row, &col, &values, NULL), rule);
  assert_int_equal(indptr.rows, rows + 1);
  assert_true(indptr.dtype == KNNG_I64 && row.dtype == KNNG_I64 && col.dtype == KNNG_I64 && values.dtype == dtype);
  const int64_t *p = indptr.data, *r = row.data, *c = col.data;
  int64_t e = 0;
  for (int64_t i = 0; i < rows; ++i) {
    assert_int_equal(p[i], e);
    for (int64_t j = 0; j < columns; ++j) {
      if (!present[i * columns + j]) continue;
      if (e >= row.rows || r[e] != i || c[e] != j)
        fail_msg("%s: entry %lld is not (%lld, %lld)", rule, (long long)e, (long long)i, (long long)j);
      const double expected = dtype == KNNG_F32 ? (double)(float)value[i * columns + j] : value[i * columns + j];
      const double got = decode(dtype, values.data, e);
      if (got != expected)
        fail_msg("%s: (%lld, %lld) is %.17g instead of %.17g", rule, (long long)i, (long long)j, got, expected);
      ++e;
    }
  }
  assert_int_equal(p[rows], e);
  assert_true(row.rows == e && col.rows == e && values.rows == e && row.cols == 1);
  knng_sparse_destroy(s);
}

typedef struct dense {
  char listed[n * n]; /* i lists j */
  double value[n * n];
  int64_t list[n * (k + 1)];
} dense;

static dense* dense_of(const knng_graph* g, int self_first) {
  dense* d = calloc(1, sizeof *d);
  assert_non_null(d);
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL), values = ids;
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  for (int64_t i = 0; i < n; ++i) {
    d->list[i * (k + 1)] = i;
    for (int64_t j = 0; j < k; ++j) {
      const int64_t entry = i * ids.cols + j + self_first, id = ((int64_t*)ids.data)[entry];
      d->list[i * (k + 1) + j + 1] = id;
      d->listed[i * n + id] = 1;
      d->value[i * n + id] = decode(values.dtype, values.data, entry);
    }
  }
  return d;
}

static double combine(const char* how, double a, double b) {
  if (strcmp(how, "max") == 0) return fmax(a, b);
  if (strcmp(how, "min") == 0) return fmin(a, b);
  if (strcmp(how, "product") == 0) return a * b;
  return (a + b) / 2;
}

static void check_rules(const knng_graph* g, int self_first, int32_t dtype) {
  dense* d = dense_of(g, self_first);
  char* present = calloc(n * n, 1);
  double* value = calloc(n * n, sizeof(double));
  static const char* const hows[] = {"mean", "max", "min", "product", ""};
  for (int mutual = 0; mutual < 2; ++mutual)
    for (int h = 0; h < 5; ++h) {
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const int a = d->listed[i * n + j], b = d->listed[j * n + i];
          present[i * n + j] = (char)(i != j && (mutual ? a && b : a || b));
          const double va = d->value[i * n + j], vb = d->value[j * n + i];
          value[i * n + j] = a && b ? combine(hows[h], va, vb) : a ? va : vb;
        }
      char rule[32];
      snprintf(rule, sizeof rule, "%s%s%s", mutual ? "mutual" : "union", *hows[h] ? ":" : "", hows[h]);
      expect_sparse(g, rule, n, n, present, value, dtype);
    }
  static const char* const shared[] = {"snn:number", "snn:jaccard", "snn:rank", "snn"};
  for (int r = 0; r < 4; ++r) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int common = 0, smallest = 2 * k + 1;
        for (int a = 0; a <= k; ++a)
          for (int b = 0; b <= k; ++b)
            if (d->list[i * (k + 1) + a] == d->list[j * (k + 1) + b]) {
              ++common;
              if (a + b < smallest) smallest = a + b;
            }
        present[i * n + j] = (char)(i != j && common > 0);
        value[i * n + j] = r == 0 ? common : r == 1 ? (double)common / (2 * (k + 1) - common) : k - smallest / 2.0;
      }
    expect_sparse(g, shared[r], n, n, present, value, KNNG_F64);
  }
  for (int64_t i = 0; i < n; ++i) {
    memcpy(present + i * n, d->listed + i * n, n);
    memcpy(value + i * n, d->value + i * n, n * sizeof(double));
    if (self_first) present[i * n + i] = 1;
  }
  expect_sparse(g, "directed", n, n, present, value, dtype);
  free(present);
  free(value);
  free(d);
}

static void every_rule(void** state) {
  (void)state;
  for (int variant = 0; variant < 4; ++variant) {
    test_rows rows = variant & 1 ? rows_grid(KNNG_F32, n, 3, 3, 111) : rows_normal(KNNG_F64, n, 5, 112);
    knng* h = HANDLE(&rows, "device", "cpu", "self", variant & 2 ? "first" : "exclude");
    knng_graph* g = built(h, k);
    check_rules(g, variant >> 1, variant & 1 ? KNNG_F32 : KNNG_F64);
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
}

/* Distances of other origin need not be symmetric: then the combination matters. */
static void asymmetric_values(void** state) {
  (void)state;
  int64_t ids[n * k];
  double values[n * k];
  uint64_t seed = 113;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j) {
      ids[i * k + j] = (i + 1 + j * (1 + i % 3)) % n;
      values[i * k + j] = j + uniform(&seed);
    }
  const knng_matrix im = knng_packed(KNNG_I64, n, k, ids), vm = knng_packed(KNNG_F64, n, k, values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, &vm, 0, n, 1, NULL), "import");
  check_rules(g, 0, KNNG_F64);
  knng_graph_destroy(g);
}

/* Memberships in eighths, one row of which lists nobody back. */
static void fuzzy_union(void** state) {
  (void)state;
  static const int64_t ids[] = {1, 2, /**/ 0, -1, /**/ 1, -1};
  static const double memberships[] = {0.5, 0.75, /**/ 0.25, INFINITY, /**/ 1, INFINITY};
  const knng_matrix im = knng_packed(KNNG_I64, 3, 2, ids), vm = knng_packed(KNNG_F64, 3, 2, memberships);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, &vm, 0, 3, 1, NULL), "import");
  const char present[] = {0, 1, 1, 1, 0, 1, 1, 1, 0};
  const double value[] = {0, 0.625, 0.75, 0.625, 0, 1, 0.75, 1, 0};
  expect_sparse(g, "union:probabilistic", 3, 3, present, value, KNNG_F64);
  knng_graph_destroy(g);

  static const double distances[] = {0.5, 0.75, /**/ 2, INFINITY, /**/ 1, INFINITY};
  const knng_matrix dm = knng_packed(KNNG_F64, 3, 2, distances);
  expect_ok(knng_graph_import(&g, &im, &dm, 0, 3, 1, NULL), "import");
  knng_sparse* s = NULL;
  EXPECT_ERROR(knng_graph_sparse(g, "union:probabilistic", NULL, &s, &reported), KNNG_ERR_DATA, "from 0 to 1, not 2");
  assert_null(s);
  assert_true(reported.row == 1 && reported.col == 0);
  knng_graph_destroy(g);
}

static void queries_have_only_the_directed_form(void** state) {
  (void)state;
  static const int64_t ids[] = {7, 2, /**/ 1, -1};
  static const float values[] = {0, 0.5f, /**/ 2, INFINITY};
  const knng_matrix im = knng_packed(KNNG_I64, 2, 2, ids), vm = knng_packed(KNNG_F32, 2, 2, values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, &vm, 0, 8, 0, NULL), "import");
  char present[16] = {0};
  double value[16] = {0};
  present[2] = present[7] = present[8 + 1] = 1;
  value[2] = 0.5;
  value[8 + 1] = 2;
  expect_sparse(g, "directed", 2, 8, present, value, KNNG_F32);
  static const char* const square[] = {"union", "mutual", "snn", "snn:jaccard"};
  for (int i = 0; i < 4; ++i) {
    knng_sparse* s = NULL;
    EXPECT_ERROR(knng_graph_sparse(g, square[i], NULL, &s, &reported), KNNG_ERR_STATE, square[i]);
    assert_null(s);
  }
  knng_graph_destroy(g);
}

static void forms_outlive_their_graph(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, n, 3, 3, 114);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, k);
  knng_sparse* s = NULL;
  expect_ok(knng_graph_sparse(g, "union", NULL, &s, NULL), "union");
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
  knng_matrix indptr = knng_packed(KNNG_I64, 0, 0, NULL), value = indptr;
  expect_ok(knng_sparse_view(s, &indptr, NULL, NULL, &value, NULL), "view");
  double sum = 0;
  for (int64_t e = 0; e < value.rows; ++e) sum += decode(value.dtype, value.data, e);
  assert_true(((int64_t*)indptr.data)[n] == value.rows && isfinite(sum));
  knng_sparse_destroy(s);
}

/* From 1 and 32 bits wide, as R, Julia and Fortran have them; into a column of something; doubles of floats. */
static void copies_of_forms(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, n, 3, 3, 115);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, k);
  knng_sparse* s = NULL;
  expect_ok(knng_graph_sparse(g, "union", NULL, &s, NULL), "union");
  int64_t count = 0, height = 0, width = 0;
  expect_ok(knng_sparse_shape(s, &height, &width, &count, NULL), "shape");
  assert_true(height == n && width == n && count > n);
  knng_matrix indptr = knng_packed(KNNG_I64, 0, 0, NULL), row = indptr, col = indptr, value = indptr;
  expect_ok(knng_sparse_view(s, &indptr, &row, &col, &value, NULL), "view");
  assert_int_equal(row.rows, count);

  int32_t* p = malloc(sizeof *p * (n + 1));
  int32_t* pairs = malloc(sizeof *pairs * 2 * (size_t)count); /* row and column beside each other */
  double* values = malloc(sizeof *values * (size_t)count);
  assert_true(p && pairs && values);
  knng_matrix to_p = knng_packed(KNNG_I32, n + 1, 1, p), to_row = knng_packed(KNNG_I32, count, 1, pairs),
              to_col = knng_packed(KNNG_I32, count, 1, pairs + 1), to_value = knng_packed(KNNG_F64, count, 1, values);
  to_row.row_stride = to_col.row_stride = 2;
  to_row.col_stride = to_col.col_stride = 1;
  expect_ok(knng_sparse_copy(s, 1, &to_p, &to_row, &to_col, &to_value, NULL), "copy");
  for (int64_t i = 0; i <= n; ++i) assert_int_equal(p[i], ((int64_t*)indptr.data)[i] + 1);
  for (int64_t e = 0; e < count; ++e) {
    assert_int_equal(pairs[2 * e], ((int64_t*)row.data)[e] + 1);
    assert_int_equal(pairs[2 * e + 1], ((int64_t*)col.data)[e] + 1);
    assert_true(values[e] == (double)((float*)value.data)[e]);
  }
  expect_ok(knng_sparse_copy(s, 0, &to_p, NULL, NULL, NULL, NULL), "copy of one array");
  assert_int_equal(p[0], 0);

  knng_matrix same = knng_packed(KNNG_I32, count, 1, p);
  EXPECT_ERROR(knng_sparse_copy(s, 0, &to_p, NULL, &same, NULL, &reported), KNNG_ERR_ARGUMENT,
               "col: it shares memory with indptr");
  assert_int_equal(p[0], 0);
  EXPECT_ERROR(knng_sparse_view(s, NULL, &same, &to_value, &same, &reported), KNNG_ERR_ARGUMENT,
               "value: it is the struct that row is");
  EXPECT_ERROR(knng_sparse_copy(s, 2, &to_p, NULL, NULL, NULL, &reported), KNNG_ERR_RANGE, "base=2");
  to_p.rows = n;
  EXPECT_ERROR(knng_sparse_copy(s, 0, &to_p, NULL, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "indptr");
  to_value.dtype = KNNG_I64;
  EXPECT_ERROR(knng_sparse_copy(s, 0, NULL, NULL, NULL, &to_value, &reported), KNNG_ERR_ARGUMENT, "value", "int64");
  to_col.dtype = KNNG_I16;
  EXPECT_ERROR(knng_sparse_copy(s, 0, NULL, NULL, &to_col, NULL, &reported), KNNG_ERR_ARGUMENT, "col", "int16");
  free(p);
  free(pairs);
  free(values);
  knng_sparse_destroy(s);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static int32_t stop_at_once(void* user, const char* stage, double done, double total) {
  ++*(int*)user;
  assert_true(*stage && done <= total);
  return 1;
}

/* Values are rounded to nearest; what a type cannot hold is refused, and infinity is no number that is too large. */
static void copies_that_may_not_fit(void** state) {
  (void)state;
  static const int64_t ids[] = {2147483646, 2, /**/ 5000000000, 1};
  static const double values[] = {0.1, 3, /**/ 1e300, INFINITY};
  const knng_matrix im = knng_packed(KNNG_I64, 2, 2, ids), vm = knng_packed(KNNG_F64, 2, 2, values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, &vm, 0, 5000000001, 0, NULL), "import");
  knng_sparse* s = NULL;
  expect_ok(knng_graph_sparse(g, "directed", NULL, &s, NULL), "directed");
  int64_t row[4], col[4];
  float value[4];
  knng_matrix to_row = knng_packed(KNNG_I64, 4, 1, row), to_col = knng_packed(KNNG_I64, 4, 1, col),
              to_value = knng_packed(KNNG_F32, 4, 1, value);
  expect_ok(knng_sparse_copy(s, 1, NULL, &to_row, &to_col, NULL, NULL), "int64");
  static const int64_t rows[] = {1, 1, 2, 2}, cols[] = {3, 2147483647, 2, 5000000001}; /* sorted by column */
  assert_memory_equal(row, rows, sizeof rows);
  assert_memory_equal(col, cols, sizeof cols);
  int32_t narrow[4];
  to_col = knng_packed(KNNG_I32, 4, 1, narrow);
  EXPECT_ERROR(knng_sparse_copy(s, 0, NULL, NULL, &to_col, NULL, &reported), KNNG_ERR_RANGE, "col", "5000000000",
               "int32");
  assert_true(reported.row == 3 && reported.given == 5000000000 && reported.limit == INT32_MAX);
  EXPECT_ERROR(knng_sparse_copy(s, 0, NULL, NULL, NULL, &to_value, &reported), KNNG_ERR_RANGE, "value", "float32");
  assert_int_equal(reported.row, 3);
  knng_sparse_destroy(s);
  knng_graph_destroy(g);

  /* 2^31 - 2 fits from 0 and from 1; 2^31 - 1 from 0 alone. */
  for (int64_t last = 2147483646; last <= 2147483647; ++last) {
    const int64_t of_one[] = {last, 5};
    const double of_values[] = {0.1, 16777217};
    const knng_matrix i1 = knng_packed(KNNG_I64, 1, 2, of_one), v1 = knng_packed(KNNG_F64, 1, 2, of_values);
    expect_ok(knng_graph_import(&g, &i1, &v1, 0, 2147483648, 0, NULL), "import");
    expect_ok(knng_graph_sparse(g, "directed", NULL, &s, NULL), "directed");
    to_col = knng_packed(KNNG_I32, 2, 1, narrow);
    to_value = knng_packed(KNNG_F32, 2, 1, value);
    expect_ok(knng_sparse_copy(s, 0, NULL, NULL, &to_col, &to_value, NULL), "int32 from 0, float32");
    assert_true(narrow[0] == 5 && narrow[1] == last);
    assert_true(value[0] == 16777216 && value[1] == (float)0.1);
    const knng_status status = knng_sparse_copy(s, 1, NULL, NULL, &to_col, NULL, NULL);
    assert_int_equal(status, last == 2147483646 ? KNNG_OK : KNNG_ERR_RANGE);
    knng_sparse_destroy(s);
    knng_graph_destroy(g);
  }
}

/* A form without entries: copies take matrices of 0 rows, as every other number of entries has its own. */
static void forms_without_entries(void** state) {
  (void)state;
  int64_t ids[] = {1, 2, 0}, indptr[4];
  const knng_matrix m = knng_packed(KNNG_I64, 3, 1, ids);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &m, NULL, 0, 3, 1, NULL), "import");
  knng_sparse* s = NULL;
  expect_ok(knng_graph_sparse(g, "mutual", NULL, &s, NULL), "mutual");
  int32_t columns = 7;
  double values = 7;
  knng_matrix to = knng_packed(KNNG_I64, 4, 1, indptr), none = knng_packed(KNNG_I32, 0, 1, &columns),
              no_values = knng_packed(KNNG_F64, 0, 1, NULL), one = knng_packed(KNNG_I32, 1, 1, &columns);
  expect_ok(knng_sparse_copy(s, 1, &to, NULL, &none, &no_values, NULL), "0 rows");
  expect_ok(knng_sparse_copy(s, 1, &to, &one, NULL, NULL, NULL), "1 row");
  assert_true(columns == 7 && values == 7);
  for (int i = 0; i < 4; ++i) assert_int_equal(indptr[i], 1);
  knng_sparse_destroy(s);
  s = NULL;
  expect_ok(knng_graph_sparse(g, "directed", NULL, &s, NULL), "directed");
  EXPECT_ERROR(knng_sparse_copy(s, 1, &to, NULL, &none, NULL, &reported), KNNG_ERR_RANGE, "col", "rows=0");
  knng_sparse_destroy(s);
  knng_graph_destroy(g);
}

/* Every row lists the hub, so every row meets every other: the matrix is full. */
static void a_hub_within_a_limit(void** state) {
  (void)state;
  enum { points = 3000 };
  static int64_t ids[points];
  for (int64_t i = 0; i < points; ++i) ids[i] = i == 7 ? 8 : 7;
  const knng_matrix m = knng_packed(KNNG_I64, points, 1, ids);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &m, NULL, 0, points, 1, NULL), "import");
  const int64_t entries = (int64_t)points * (points - 1), bytes = entries * 24;
  knng_control c = {.struct_size = sizeof c, .max_bytes = bytes / 2};
  knng_sparse* s = NULL;
  EXPECT_ERROR(knng_graph_sparse(g, "snn", &c, &s, &reported), KNNG_ERR_BUDGET, "max_bytes");
  assert_null(s);
  c.max_bytes = 2 * bytes;
  expect_ok(knng_graph_sparse(g, "snn", &c, &s, NULL), "snn within a limit");
  int64_t count = 0;
  expect_ok(knng_sparse_shape(s, NULL, NULL, &count, NULL), "shape");
  assert_int_equal(count, entries);
  knng_sparse_destroy(s);
  s = NULL;
  /* The union has each pair with the hub, in both directions. */
  const int64_t of_union = 2 * (points - 1) * 24;
  c.max_bytes = of_union / 2;
  EXPECT_ERROR(knng_graph_sparse(g, "union", &c, &s, &reported), KNNG_ERR_BUDGET, "max_bytes");
  assert_null(s);
  assert_true(reported.limit > of_union / 2);
  c.max_bytes = 4 * of_union;
  expect_ok(knng_graph_sparse(g, "union", &c, &s, NULL), "union within a limit");
  expect_ok(knng_sparse_shape(s, NULL, NULL, &count, NULL), "shape");
  assert_int_equal(count, 2 * (points - 1));
  knng_sparse_destroy(s);
  s = NULL;

  volatile int32_t stop = 1;
  const knng_control stopped = {.struct_size = sizeof stopped, .stop = &stop};
  static const char* const rules[] = {"directed", "union", "mutual", "snn"};
  for (int i = 0; i < 4; ++i) {
    int calls = 0;
    const knng_control asked = {.struct_size = sizeof asked, .progress = stop_at_once, .user = &calls};
    EXPECT_ERROR(knng_graph_sparse(g, rules[i], &stopped, &s, &reported), KNNG_ERR_CANCELLED, "stopped");
    EXPECT_ERROR(knng_graph_sparse(g, rules[i], &asked, &s, &reported), KNNG_ERR_CANCELLED, "stopped");
    assert_null(s);
    assert_int_equal(calls, 1);
  }
  knng_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule),
      cmocka_unit_test(asymmetric_values),
      cmocka_unit_test(fuzzy_union),
      cmocka_unit_test(queries_have_only_the_directed_form),
      cmocka_unit_test(forms_outlive_their_graph),
      cmocka_unit_test(copies_of_forms),
      cmocka_unit_test(copies_that_may_not_fit),
      cmocka_unit_test(forms_without_entries),
      cmocka_unit_test(a_hub_within_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
