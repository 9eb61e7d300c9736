/* Text tables through the public API: the same graph, to the bit, as from a .npy of the same numbers; in a locale with
 * a decimal comma; within max_host_bytes; stopped; and refusals that tell row and column. Their form is tested with
 * their room. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/decimal_comma.h"
#include "harness/folder.h"
#include "harness/row_files.h"

/* 17 digits tell a double. names, header: whether they are there; end: of lines. */
static void write_table(const char* path, const test_rows* rows, char separator, int header, int names,
                        const char* end) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  if (header) {
    if (names) fprintf(f, "\"\"%c", separator);
    for (int64_t c = 0; c < rows->d; ++c) fprintf(f, "%sfeature %d", c ? (char[]){separator, 0} : "", (int)c);
    fputs(end, f);
  }
  for (int64_t i = 0; i < rows->n; ++i) {
    if (names) fprintf(f, "\"row %d\"%c", (int)i, separator);
    for (int64_t c = 0; c < rows->d; ++c)
      fprintf(f, "%s%.17g", c ? (char[]){separator, 0} : "", rows->x[i * rows->d + c]);
    fputs(end, f);
  }
  assert_int_equal(fclose(f), 0);
}

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

static knng* from_file(const char* path) {
  knng* h = HANDLE(NULL, "device", "cpu");
  expect_ok(knng_add_file(h, path, NULL, NULL), path);
  return h;
}

static void expect_shape(const knng* h, int64_t rows, int64_t cols) {
  int64_t n = -1, d = -1;
  int32_t dtype = 0;
  expect_ok(knng_shape(h, &n, &d, &dtype, NULL), "knng_shape");
  assert_int_equal(n, rows);
  if (rows == 0) return;
  assert_int_equal(d, cols);
  assert_int_equal(dtype, KNNG_F64);
}

static void graphs_are_those_of_npy(void** state) {
  (void)state;
  enum { rows_n = 3000, dim = 11, width = 7 }; /* more than a block of the reader */
  test_rows rows = rows_normal(KNNG_F64, rows_n, dim, 301), queries = rows_normal(KNNG_F64, 30, dim, 302);
  write_rows("x.npy", &rows);
  write_rows("q.npy", &queries);
  write_table("q.csv", &queries, ',', 1, 0, "\n");
  knng* npy = from_file("x.npy");
  knng_graph *expected = built(npy, width), *asked = NULL;
  expect_ok(knng_query_file(npy, "q.npy", width, NULL, &asked, NULL), "q.npy");
  for (int form = 0; form < 8; ++form) {
    const char* const path = form & 4 ? "x.tsv" : "x.csv";
    write_table(path, &rows, form & 4 ? '\t' : form & 1 ? ';' : ',', form & 2, form & 1, form & 1 ? "\r\n" : "\n");
    knng* h = from_file(path);
    expect_shape(h, rows_n, dim);
    double* back = malloc(sizeof(double) * rows_n * dim);
    knng_matrix m = knng_packed(KNNG_F64, rows_n, dim, back);
    expect_ok(knng_read(h, 0, &m, NULL), path);
    assert_memory_equal(back, rows.data, sizeof(double) * rows_n * dim);
    free(back);
    knng_graph *g = built(h, width), *q = NULL;
    expect_same_graph(expected, g, path);
    knng_graph_destroy(g);
    expect_ok(knng_query_file(h, "q.csv", width, NULL, &q, NULL), "q.csv");
    expect_same_graph(asked, q, "q.csv");
    knng_graph_destroy(q);
    knng_destroy(h);
  }
  knng_graph_destroy(asked);
  knng_graph_destroy(expected);
  knng_destroy(npy);
  rows_free(&rows);
  rows_free(&queries);
}

/* Files of one data set have one type and as many columns; their forms may differ. */
static void one_data_set(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F64, 40, 3, 303), singles = rows_normal(KNNG_F32, 40, 3, 304);
  write_table("a.csv", &rows, ',', 1, 1, "\n");
  write_table("b.tsv", &rows, '\t', 0, 0, "\n");
  write_rows("c.npy", &rows);
  write_rows("singles.npy", &singles);
  write_text("wide.csv", "1,2,3,4\n");
  knng* h = from_file("a.csv");
  expect_ok(knng_add_file(h, "b.tsv", NULL, NULL), "b.tsv");
  expect_ok(knng_add_file(h, "c.npy", NULL, NULL), "c.npy");
  expect_shape(h, 120, 3);
  EXPECT_ERROR(knng_add_file(h, "singles.npy", NULL, &reported), KNNG_ERR_ARGUMENT, "float32", "float64");
  EXPECT_ERROR(knng_add_file(h, "wide.csv", NULL, &reported), KNNG_ERR_ARGUMENT, "4", "3");
  expect_shape(h, 120, 3);
  knng_destroy(h);
  rows_free(&rows);
  rows_free(&singles);
}

static void refusals_point(void** state) {
  (void)state;
  static const struct {
    const char *text, *word;
    knng_status code;
    int64_t row, col, given, limit;
  } cases[] = {
      {"g,a,b\nx,1,2\ny,3,NA\n", "bad.csv': line 3, column 'b': 'NA'", KNNG_ERR_DATA, 1, 1, -1, -1},
      {"g,a,b\nx,1,2\ny,,4\n", "line 3, column 'a': the cell is empty", KNNG_ERR_DATA, 1, 0, -1, -1},
      {"a;b\n1;2\n3,5;4\n", "'3,5' has a comma", KNNG_ERR_FORMAT, 1, 0, -1, -1},
      {"1,2\n3,four\n", "line 2: 'four' is no number", KNNG_ERR_FORMAT, 1, 1, -1, -1},
      {"1,2\n3,4\n5,6,7\n", "line 3 has 3 cells", KNNG_ERR_FORMAT, 2, -1, 3, 2},
      {"a,b\n", "no rows", KNNG_ERR_RANGE, -1, -1, 0, 1},
      {"", "is empty", KNNG_ERR_RANGE, -1, -1, 0, 1},
  };
  write_text("good.csv", "1,2\n3,4\n5,6\n");
  knng* h = from_file("good.csv");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (int query = 0; query < 2; ++query) {
      write_text("bad.csv", cases[c].text);
      knng_graph* g = NULL;
      const knng_status status =
          query ? knng_query_file(h, "bad.csv", 1, NULL, &g, &reported) : knng_add_file(h, "bad.csv", NULL, &reported);
      EXPECT_ERROR(status, cases[c].code, cases[c].word);
      assert_int_equal(reported.row, cases[c].row);
      assert_int_equal(reported.col, cases[c].col);
      assert_int_equal(reported.given, cases[c].given);
      assert_int_equal(reported.limit, cases[c].limit);
      assert_string_equal(reported.argument, "path");
      assert_null(g);
      expect_shape(h, 3, 2);
    }
  knng_destroy(h);
}

/* What is asked for is the rows, the reader's block and nothing else. */
static void within_a_limit(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F64, 2000, 10, 305);
  write_table("x.csv", &rows, ',', 1, 0, "\n");
  knng* h = HANDLE(NULL, "max_host_bytes", "170000");
  EXPECT_ERROR(knng_add_file(h, "x.csv", NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes=170000");
  assert_true(reported.limit > 160000 + 200000 && reported.limit < 160000 + 270000);
  set_bytes(h, "max_host_bytes", reported.limit);
  expect_ok(knng_add_file(h, "x.csv", NULL, NULL), "as much as is needed");
  expect_shape(h, 2000, 10);
  knng_destroy(h);
  rows_free(&rows);
}

/* Of every format, the same as of a file of the transpose. */
static void columns_are_points(void** state) {
  (void)state;
  static const struct {
    const char* name;
    int32_t dtype;
  } files[] = {{"x.csv", KNNG_F64},   {"x.npy", KNNG_F64},  {"y.npy", KNNG_F16},
               {"x.fvecs", KNNG_F32}, {"x.u8bin", KNNG_U8}, {"x.i8bin", KNNG_I8}};
  for (size_t f = 0; f < sizeof files / sizeof *files; ++f)
    for (int wide = 0; wide < 2; ++wide) {
      const int64_t n = wide ? 7 : 90, d = wide ? 90 : 7;
      test_rows points = rows_normal(files[f].dtype, n, d, 307 + f);
      double* const transpose = malloc(sizeof(double) * (size_t)(n * d));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < d; ++c) transpose[c * n + i] = points.x[i * d + c];
      test_rows turned = rows_from(files[f].dtype, d, n, transpose);
      free(transpose);
      if (f == 0)
        write_table(files[f].name, &turned, ',', 1, 1, "\n");
      else
        write_rows(files[f].name, &turned);
      knng *h = HANDLE(NULL, "device", "cpu", "file_points", "columns"), *direct = HANDLE(&points, "device", "cpu");
      expect_ok(knng_add_file(h, files[f].name, NULL, NULL), files[f].name);
      knng_graph *g = built(h, 5), *expected = built(direct, 5), *asked = NULL;
      expect_same_graph(expected, g, files[f].name);
      expect_ok(knng_query_file(h, files[f].name, 1, NULL, &asked, NULL), files[f].name);
      knng_matrix ids = {.struct_size = sizeof ids};
      expect_ok(knng_graph_view(asked, &ids, NULL, NULL), "knng_graph_view");
      for (int64_t i = 0; i < n; ++i) assert_int_equal(((const int64_t*)ids.data)[i], i);
      knng_graph_destroy(asked);
      knng_graph_destroy(expected);
      knng_graph_destroy(g);
      /* All of it is held, and a block beside. */
      knng_destroy(direct);
      knng_destroy(h);
      h = HANDLE(NULL, "file_points", "columns", "max_host_bytes", "1");
      EXPECT_ERROR(knng_add_file(h, files[f].name, NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes=1");
      assert_true(reported.limit >= 2 * n * d * dtype_size(files[f].dtype));
      set_bytes(h, "max_host_bytes", reported.limit);
      expect_ok(knng_add_file(h, files[f].name, NULL, NULL), "as much as is needed");
      knng_destroy(h);
      rows_free(&turned);
      rows_free(&points);
    }
}

/* Of a file that is read in several blocks. */
static void columns_over_blocks(void** state) {
  (void)state;
  enum { file_rows = 5000, file_cols = 2000, step = 333 };
  FILE* f = fopen("large.u8bin", "wb");
  assert_non_null(f);
  const uint32_t counts[2] = {file_rows, file_cols};
  fwrite(counts, sizeof counts, 1, f);
  for (int r = 0; r < file_rows; ++r)
    for (int c = 0; c < file_cols; ++c) putc((r * 31 + c * 17) % 251, f);
  assert_int_equal(fclose(f), 0);
  knng* h = HANDLE(NULL, "file_points", "columns");
  expect_ok(knng_add_file(h, "large.u8bin", NULL, NULL), "large.u8bin");
  static double point[file_rows];
  knng_matrix m = knng_packed(KNNG_F64, 1, file_rows, point);
  for (int c = 0; c < file_cols; c += step) {
    expect_ok(knng_read(h, c, &m, NULL), "knng_read");
    for (int r = 0; r < file_rows; ++r) assert_true(point[r] == (r * 31 + c * 17) % 251);
  }
  knng_destroy(h);
}

/* Row and column are those of the data set. */
static void refusals_point_at_columns(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, "file_points", "columns");
  write_text("bad.csv", "gene,cell 1,cell 2,cell 3\nA,1,2,3\nB,4,5,NA\n");
  EXPECT_ERROR(knng_add_file(h, "bad.csv", NULL, &reported), KNNG_ERR_DATA, "bad.csv': line 3, column 'cell 3': 'NA'",
               "(row 2, column 1)");
  const double x[] = {1, 2, 3, 4, 5, NAN};
  write_npy("bad.npy", "<f8", 0, 2, 3, x, sizeof x);
  EXPECT_ERROR(knng_add_file(h, "bad.npy", NULL, &reported), KNNG_ERR_DATA, "(row 2, column 1)");
  write_text("good.csv", "gene,cell 1,cell 2,cell 3\nA,1,2,3\nB,4,5,6\n");
  expect_ok(knng_add_file(h, "good.csv", NULL, NULL), "good.csv");
  expect_shape(h, 3, 2);
  expect_ok(knng_set(h, "file_points", "rows", NULL), "rows");
  EXPECT_ERROR(knng_add_file(h, "good.csv", NULL, &reported), KNNG_ERR_ARGUMENT, "3", "2");
  knng_destroy(h);
}

static int32_t stop_at(void* user, const char* stage, double done, double total) {
  assert_true(done >= 0 && done <= total);
  return strcmp(stage, user) == 0;
}

static void reading_can_be_stopped(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F64, 20000, 30, 306);
  write_table("x.csv", &rows, ',', 0, 0, "\n");
  static char stages[2][8] = {"count", "read"};
  for (int s = 0; s < 2; ++s) {
    knng* h = HANDLE(NULL, NULL);
    const knng_control control = {
        .struct_size = sizeof control, .interval_ms = 1, .progress = stop_at, .user = stages[s]};
    EXPECT_ERROR(knng_add_file(h, "x.csv", &control, &reported), KNNG_ERR_CANCELLED, "stopped");
    expect_shape(h, 0, 0);
    knng_destroy(h);
  }
  rows_free(&rows);
}

static void expect_text(const knng* h, int32_t i, const char* name, const char* expected) {
  char text[64] = "";
  int64_t needed = -1;
  expect_ok(knng_file_text(h, i, name, text, sizeof text, &needed, NULL), name);
  assert_string_equal(text, expected);
  assert_int_equal(needed, strlen(expected) + 1);
}

/* What the first two lines were taken for, of each file that was added. */
static void what_was_taken(void** state) {
  (void)state;
  static const struct {
    const char *file, *text, *header, *row_names, *separator;
  } tables[] = {{"a.csv", ",x,y\nr,1,2\n", "yes", "yes", "commas"},
                {"b.csv", "x;y\n3;4\n", "yes", "no", "semicolons"},
                {"c.csv", "r\t5\t8\ns\t7\t9\n", "no", "yes", "tabs"},
                {"d.tsv", "7\t8\n9\t3\n", "no", "no", "tabs"}};
  enum { count = sizeof tables / sizeof *tables };
  knng* h = HANDLE(NULL, "device", "cpu");
  int64_t needed = -1;
  char text[64] = "as it was";
  EXPECT_ERROR(knng_file_text(h, 0, "file", text, sizeof text, &needed, &reported), KNNG_ERR_RANGE,
               "i=0: no rows were added from a file");
  assert_int_equal(needed, 0);
  for (int32_t t = 0; t < count; ++t) {
    write_text(tables[t].file, tables[t].text);
    expect_ok(knng_add_file(h, tables[t].file, NULL, NULL), tables[t].file);
    /* A file that is refused is none of them. */
    assert_int_equal(knng_add_file(h, "missing.csv", NULL, NULL), KNNG_ERR_IO);
  }
  test_rows rows = rows_grid(KNNG_F64, 3, 2, 3, 407);
  write_rows("e.npy", &rows);
  expect_ok(knng_add_file(h, "e.npy", NULL, NULL), "e.npy");
  knng* shared = NULL;
  expect_ok(knng_share(&shared, h, NULL), "knng_share");
  for (int turn = 0; turn < 2; ++turn) {
    const knng* const of = turn ? shared : h;
    for (int32_t t = 0; t < count; ++t) {
      expect_text(of, t, "file", tables[t].file);
      expect_text(of, t, "header", tables[t].header);
      expect_text(of, t, "row_names", tables[t].row_names);
      expect_text(of, t, "separator", tables[t].separator);
      expect_text(of, t, "matrix", "");
      expect_text(of, t, "form", "");
    }
    expect_text(of, count, "file", "e.npy");
    expect_text(of, count, "header", "");
    expect_text(of, count, "matrix", "");
  }
  for (int32_t i = -1; i <= count + 1; i += count + 2) {
    EXPECT_ERROR(knng_file_text(h, i, "file", text, sizeof text, &needed, &reported), KNNG_ERR_RANGE,
                 "must be from 0 to 4, the last of the files");
    assert_string_equal(reported.argument, "i");
    assert_true(reported.given == i && reported.limit == count + 1 && needed == 0);
  }
  EXPECT_ERROR(knng_file_text(h, 0, "title", text, sizeof text, &needed, &reported), KNNG_ERR_OPTION,
               "unknown text 'title'", "file, matrix, form, header, row_names, separator");
  assert_int_equal(knng_file_text(h, 0, "file", text, 5, &needed, NULL), KNNG_ERR_RANGE);
  assert_int_equal(needed, 6);
  assert_string_equal(text, "as it was");
  knng_destroy(shared);
  knng_destroy(h);
  rows_free(&rows);
}

static void locales_have_no_say(void** state) {
  (void)state;
  write_text("x.csv", "1.5,2.25\n-3e-1,4\n");
  write_text("y.csv", "1;2\n1,5;2,25\n");
  need_decimal_comma();
  char text[16];
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5");
  knng* h = from_file("x.csv");
  double back[4];
  knng_matrix m = knng_packed(KNNG_F64, 2, 2, back);
  expect_ok(knng_read(h, 0, &m, NULL), "knng_read");
  assert_true(back[0] == 1.5 && back[1] == 2.25 && back[2] == -0.3 && back[3] == 4);
  EXPECT_ERROR(knng_add_file(h, "y.csv", NULL, &reported), KNNG_ERR_FORMAT, "'1,5' has a comma");
  knng_destroy(h);
  setlocale(LC_ALL, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_are_those_of_npy), cmocka_unit_test(one_data_set),
      cmocka_unit_test(refusals_point),          cmocka_unit_test(within_a_limit),
      cmocka_unit_test(reading_can_be_stopped),  cmocka_unit_test(what_was_taken),
      cmocka_unit_test(locales_have_no_say),     cmocka_unit_test(columns_are_points),
      cmocka_unit_test(columns_over_blocks),     cmocka_unit_test(refusals_point_at_columns),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
