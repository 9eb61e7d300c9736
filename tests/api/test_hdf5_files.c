/* HDF5 files through the public API: the same graph, to the bit, as from a .npy of the same numbers; rows that stay in
 * their file; sparse rows; columns as points; within max_host_bytes; stopped; and refusals that tell row and column.
 * How files are read is tested with the reader. */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/folder.h"
#include "harness/row_files.h"

static hid_t good(hid_t id) {
  assert_true(id >= 0);
  return id;
}

/* One data set or, of float64 rows, a sparse group as AnnData writes it, with all values that are not 0. */
static void write_set(hid_t file, const char* path, hid_t type, int dimensions, const hsize_t* shape,
                      const hsize_t* chunk, const void* data) {
  const hid_t space = good(H5Screate_simple(dimensions, shape, NULL)), how = good(H5Pcreate(H5P_DATASET_CREATE));
  if (chunk) good(H5Pset_chunk(how, dimensions, chunk));
  if (chunk) good(H5Pset_deflate(how, 4));
  const hid_t set = good(H5Dcreate2(file, path, type, space, H5P_DEFAULT, how, H5P_DEFAULT));
  good(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  H5Dclose(set);
  H5Pclose(how);
  H5Sclose(space);
}

static hid_t create(const char* path) { return good(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)); }

static void write_dense(const char* path, const test_rows* rows, const hsize_t* chunk) {
  const hid_t file = create(path);
  const hsize_t shape[2] = {(hsize_t)rows->n, (hsize_t)rows->d};
  write_set(file, "x", rows->dtype == KNNG_F64 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, 2, shape, chunk, rows->data);
  H5Fclose(file);
}

static void write_attribute(hid_t group, const char* name, hid_t type, hid_t space, const void* value) {
  const hid_t a = good(H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  good(H5Awrite(a, type, value));
  H5Aclose(a);
}

/* What AnnData says of a sparse group X. */
static void describe_sparse(hid_t file, const char* encoding, const int64_t* shape) {
  const hsize_t two = 2;
  const hid_t text = good(H5Tcopy(H5T_C_S1)), one = good(H5Screate(H5S_SCALAR)),
              pair = good(H5Screate_simple(1, &two, NULL)), group = good(H5Gopen2(file, "X", H5P_DEFAULT));
  good(H5Tset_size(text, H5T_VARIABLE));
  write_attribute(group, "encoding-type", text, one, &encoding);
  write_attribute(group, "shape", H5T_STD_I64LE, pair, shape);
  H5Tclose(text);
  H5Sclose(one);
  H5Sclose(pair);
  H5Gclose(group);
}

static void write_sparse_as(const char* path, const test_rows* rows, int by_columns) {
  const hid_t file = create(path);
  good(H5Gclose(good(H5Gcreate2(file, "X", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
  const size_t most = (size_t)(rows->n * rows->d);
  double* const data = malloc(most * sizeof *data);
  const int64_t lines = by_columns ? rows->d : rows->n, across = by_columns ? rows->n : rows->d;
  int64_t *const columns = malloc(most * sizeof *columns), *const firsts = malloc((size_t)(lines + 1) * sizeof *firsts);
  hsize_t count = 0;
  firsts[0] = 0;
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t c = 0; c < across; ++c) {
      const double value = rows->x[by_columns ? c * rows->d + i : i * rows->d + c];
      if (value == 0) continue;
      data[count] = value;
      columns[count++] = c;
    }
    firsts[i + 1] = (int64_t)count;
  }
  const hsize_t chunk = count < 64 ? count : 64, ends = (hsize_t)lines + 1;
  write_set(file, "X/data", H5T_IEEE_F64LE, 1, &count, &chunk, data);
  write_set(file, "X/indices", H5T_STD_I64LE, 1, &count, &chunk, columns);
  write_set(file, "X/indptr", H5T_STD_I64LE, 1, &ends, NULL, firsts);
  const int64_t shape[2] = {rows->n, rows->d};
  describe_sparse(file, by_columns ? "csc_matrix" : "csr_matrix", shape);
  H5Fclose(file);
  free(data);
  free(columns);
  free(firsts);
}

static void write_sparse(const char* path, const test_rows* rows) { write_sparse_as(path, rows, 0); }

static void expect_rows(const knng* h, int64_t rows) {
  int64_t n = -1;
  expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(n, rows);
}

static void graphs_are_those_of_npy(void** state) {
  (void)state;
  enum { rows_n = 1500, dim = 12, width = 7 };
  test_rows rows = rows_grid(KNNG_F64, rows_n, dim, 3, 401), queries = rows_grid(KNNG_F64, 30, dim, 3, 402);
  const hsize_t chunk[2] = {100, 5};
  write_rows("x.npy", &rows);
  write_rows("q.npy", &queries);
  write_dense("x.h5", &rows, NULL);
  write_dense("packed.hdf5", &rows, chunk);
  write_sparse("x.h5ad", &rows);
  write_sparse_as("columns.h5ad", &rows, 1);
  write_sparse("q.h5ad", &queries);
  knng* npy = HANDLE(NULL, "device", "cpu");
  expect_ok(knng_add_file(npy, "x.npy", NULL, NULL), "x.npy");
  knng_graph *expected = built(npy, width), *asked = NULL;
  expect_ok(knng_query_file(npy, "q.npy", width, NULL, &asked, NULL), "q.npy");
  static const struct {
    const char* name;
    int can_stay;
    const char *matrix, *form;
  } files[] = {{"x.h5", 1, "x", "dense"}, {"x.h5:x", 1, "x", "dense"}, {"packed.hdf5:/x", 0, "/x", "dense"},
               {"x.h5ad", 0, "X", "csr"}, {"x.h5ad:X", 0, "X", "csr"}, {"columns.h5ad", 0, "X", "csc"}};
  for (size_t f = 0; f < sizeof files / sizeof *files; ++f)
    for (int stays = 0; stays < 2; ++stays) {
      knng* h = HANDLE(NULL, "device", "cpu");
      /* No room for the rows and anything beside them: they stay in their file, or are refused. */
      if (stays) set_bytes(h, "max_host_bytes", rows_n * dim * 8);
      const knng_status status = knng_add_file(h, files[f].name, NULL, NULL);
      if (stays && !files[f].can_stay) {
        assert_int_equal(status, KNNG_ERR_BUDGET);
      } else {
        expect_ok(status, files[f].name);
        char text[32];
        expect_ok(knng_file_text(h, 0, "file", text, sizeof text, NULL, NULL), "file");
        assert_string_equal(text, files[f].name);
        expect_ok(knng_file_text(h, 0, "matrix", text, sizeof text, NULL, NULL), "matrix");
        assert_string_equal(text, files[f].matrix);
        expect_ok(knng_file_text(h, 0, "form", text, sizeof text, NULL, NULL), "form");
        assert_string_equal(text, files[f].form);
        set_bytes(h, "max_host_bytes", 0);
        knng_graph *g = built(h, width), *q = NULL;
        expect_same_graph(expected, g, files[f].name);
        expect_ok(knng_query_file(h, "q.h5ad", width, NULL, &q, NULL), "q.h5ad");
        expect_same_graph(asked, q, files[f].name);
        knng_graph_destroy(g);
        knng_graph_destroy(q);
      }
      knng_destroy(h);
    }
  /* Files of one data set may differ in form. */
  knng* h = HANDLE(NULL, "device", "cpu");
  expect_ok(knng_add_file(h, "x.h5", NULL, NULL), "x.h5");
  expect_ok(knng_add_file(h, "q.h5ad", NULL, NULL), "q.h5ad");
  expect_ok(knng_add_file(h, "q.npy", NULL, NULL), "q.npy");
  expect_rows(h, rows_n + 60);
  test_rows singles = rows_normal(KNNG_F32, 40, dim, 403);
  write_dense("singles.h5", &singles, NULL);
  EXPECT_ERROR(knng_add_file(h, "singles.h5", NULL, &reported), KNNG_ERR_ARGUMENT, "float32", "float64");
  expect_rows(h, rows_n + 60);
  knng_destroy(h);
  knng_graph_destroy(asked);
  knng_graph_destroy(expected);
  knng_destroy(npy);
  rows_free(&singles);
  rows_free(&queries);
  rows_free(&rows);
}

static void columns_are_points(void** state) {
  (void)state;
  enum { n = 80, d = 9 };
  test_rows points = rows_grid(KNNG_F64, n, d, 3, 404);
  double turned_values[d * n];
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < d; ++c) turned_values[c * n + i] = points.x[i * d + c];
  test_rows turned = rows_from(KNNG_F64, d, n, turned_values);
  const hsize_t chunk[2] = {4, 30};
  write_dense("turned.h5", &turned, chunk);
  write_sparse("turned.h5ad", &turned);
  write_sparse_as("columns.h5ad", &turned, 1);
  knng* direct = HANDLE(&points, "device", "cpu");
  knng_graph* expected = built(direct, 5);
  static const char* const names[] = {"turned.h5", "turned.h5ad", "columns.h5ad"};
  for (int f = 0; f < 3; ++f) {
    knng* h = HANDLE(NULL, "device", "cpu", "file_points", "columns");
    expect_ok(knng_add_file(h, names[f], NULL, NULL), names[f]);
    knng_graph* g = built(h, 5);
    expect_same_graph(expected, g, names[f]);
    knng_graph_destroy(g);
    knng_destroy(h);
  }
  knng_graph_destroy(expected);
  knng_destroy(direct);
  rows_free(&turned);
  rows_free(&points);
}

/* What is asked for is the rows, what unpacks them and nothing else. */
static void within_a_limit(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F64, 2000, 10, 3, 405);
  const hsize_t chunk[2] = {500, 4};
  write_dense("packed.h5", &rows, chunk);
  write_sparse("x.h5ad", &rows);
  static const struct {
    const char* name;
    int64_t beside;
  } files[] = {{"packed.h5", 500 * 10 * 8 + 3 * 500 * 4 * 8}, {"x.h5ad", -1}};
  for (int f = 0; f < 2; ++f) {
    knng* h = HANDLE(NULL, "max_host_bytes", "150000");
    EXPECT_ERROR(knng_add_file(h, files[f].name, NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes=150000");
    if (files[f].beside >= 0) assert_int_equal(reported.limit, 160000 + files[f].beside);
    const int64_t enough = reported.limit;
    set_bytes(h, "max_host_bytes", enough - 1);
    EXPECT_ERROR(knng_add_file(h, files[f].name, NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes");
    set_bytes(h, "max_host_bytes", enough);
    expect_ok(knng_add_file(h, files[f].name, NULL, NULL), "as much as is needed");
    expect_rows(h, 2000);
    knng_destroy(h);
  }
  rows_free(&rows);
}

/* The first lines of a sparse matrix have a value each, the others have none. */
static void write_nearly_empty(const char* path, const char* encoding, int64_t lines, int64_t rows, int64_t cols) {
  const hid_t file = create(path);
  good(H5Gclose(good(H5Gcreate2(file, "X", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
  const double data[2] = {1, 2};
  const int64_t across[2] = {0, 1}, shape[2] = {rows, cols};
  int64_t* const firsts = malloc((size_t)(lines + 1) * sizeof *firsts);
  for (int64_t i = 0; i <= lines; ++i) firsts[i] = i < 2 ? i : 2;
  const hsize_t two = 2, ends = (hsize_t)lines + 1;
  write_set(file, "X/data", H5T_IEEE_F64LE, 1, &two, NULL, data);
  write_set(file, "X/indices", H5T_STD_I64LE, 1, &two, NULL, across);
  write_set(file, "X/indptr", H5T_STD_I64LE, 1, &ends, NULL, firsts);
  describe_sparse(file, encoding, shape);
  H5Fclose(file);
  free(firsts);
}

/* Rows that are a small file and take more memory than there is: no byte of it is asked for, as the system might give
 * it, and end the process. */
static void more_than_there_is(void** state) {
  (void)state;
  const int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGE_SIZE);
  write_nearly_empty("rows.h5ad", "csr_matrix", 10, 10, INT64_C(1) << 40);
  write_nearly_empty("columns.h5ad", "csc_matrix", 10, INT64_C(1) << 40, 10);
  static const struct {
    const char *name, *shape;
  } files[] = {{"rows.h5ad", "10 rows of 1099511627776 columns"}, {"columns.h5ad", "1099511627776 rows of 10 columns"}};
  for (int f = 0; f < 2; ++f) {
    knng* h = HANDLE(NULL, "device", "cpu");
    EXPECT_ERROR(knng_add_file(h, files[f].name, NULL, &reported), KNNG_ERR_MEMORY, files[f].name, files[f].shape,
                 "the machine has", "sparse rows are made dense: name a matrix of fewer columns");
    assert_true(reported.given == machine && reported.limit >= INT64_C(80) << 40);
    char bytes[32];
    snprintf(bytes, sizeof bytes, "take %lld bytes", (long long)reported.limit);
    assert_non_null(strstr(reported.message, bytes));
    /* A limit is told of as ever. */
    set_bytes(h, "max_host_bytes", INT64_C(1) << 30);
    EXPECT_ERROR(knng_add_file(h, files[f].name, NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes=1073741824");
    expect_rows(h, 0);
    knng_destroy(h);
  }
}

/* What the machine would have, and the system does not give. */
static void more_than_the_system_gives(void** state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  print_message("the sanitizer's own memory takes more addresses than a limit leaves\n");
  skip();
#endif
  const int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGE_SIZE);
  const int64_t all = INT64_C(4) << 30;
  if (machine < 2 * all) {
    print_message("this machine has less than 8 GiB\n");
    skip();
  }
  write_nearly_empty("rows.h5ad", "csr_matrix", 512, 512, all / 512 / 8);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  const struct rlimit narrow = {.rlim_cur = (rlim_t)1 << 31, .rlim_max = before.rlim_max};
  knng* h = HANDLE(NULL, "device", "cpu");
  assert_int_equal(setrlimit(RLIMIT_AS, &narrow), 0);
  const knng_status status = knng_add_file(h, "rows.h5ad", NULL, &reported);
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_ERROR(status, KNNG_ERR_MEMORY, "rows.h5ad", "512 rows of 1048576 columns", "the system does not give them",
               "sparse rows are made dense");
  assert_true(reported.given == -1 && reported.limit > all);
  expect_rows(h, 0);
  knng_destroy(h);
}

static void refusals_point(void** state) {
  (void)state;
  /* The place in the data set, whose rows a file by columns has across. */
  double sparse_values[12] = {1, 0, 0, 0, 0, NAN, 0, 0, 0, 0, 0, 2};
  test_rows sparse = rows_from(KNNG_F64, 4, 3, sparse_values);
  for (int by_columns = 0; by_columns < 2; ++by_columns) {
    write_sparse_as("nan.h5ad", &sparse, by_columns);
    knng* h = HANDLE(NULL, "device", "cpu");
    EXPECT_ERROR(knng_add_file(h, "nan.h5ad", NULL, &reported), KNNG_ERR_DATA, "nan.h5ad");
    assert_int_equal(reported.row, 1);
    assert_int_equal(reported.col, 2);
    knng_destroy(h);
  }
  rows_free(&sparse);
  double values[12] = {1, 2, 3, 4, 5, 6, 7, NAN, 9, 10, 11, 12};
  const hsize_t shape[2] = {4, 3};
  const hid_t file = create("nan.h5");
  write_set(file, "x", H5T_IEEE_F64LE, 2, shape, NULL, values);
  write_set(file, "y", H5T_IEEE_F64LE, 2, shape, NULL, values);
  H5Fclose(file);
  knng* h = HANDLE(NULL, "device", "cpu");
  EXPECT_ERROR(knng_add_file(h, "nan.h5:x", NULL, &reported), KNNG_ERR_DATA, "nan.h5:x");
  assert_int_equal(reported.row, 2);
  assert_int_equal(reported.col, 1);
  assert_string_equal(reported.argument, "path");
  EXPECT_ERROR(knng_add_file(h, "nan.h5", NULL, &reported), KNNG_ERR_FORMAT, "2 matrices", "'x', 'y'");
  EXPECT_ERROR(knng_add_file(h, "nan.h5:z", NULL, &reported), KNNG_ERR_FORMAT, "has no 'z'", "'x', 'y'");
  EXPECT_ERROR(knng_add_file(h, "none.h5:z", NULL, &reported), KNNG_ERR_IO, "none.h5'");
  EXPECT_ERROR(knng_add_file(h, "nan.h5:", NULL, &reported), KNNG_ERR_ARGUMENT, "behind the colon");
  expect_rows(h, 0);
  static const int32_t stop = 1;
  knng_control control = {.struct_size = sizeof control, .stop = &stop};
  test_rows rows = rows_grid(KNNG_F64, 200, 10, 3, 406);
  write_sparse("x.h5ad", &rows);
  assert_int_equal(knng_add_file(h, "x.h5ad", &control, NULL), KNNG_ERR_CANCELLED);
  expect_rows(h, 0);
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_are_those_of_npy),
      cmocka_unit_test(columns_are_points),
      cmocka_unit_test(within_a_limit),
      cmocka_unit_test(more_than_there_is),
      cmocka_unit_test(more_than_the_system_gives),
      cmocka_unit_test(refusals_point),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
