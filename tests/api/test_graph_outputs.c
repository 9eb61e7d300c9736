/* Graphs written for other programs, through the public API: as .mtx, .tsv and pairs of .ivecs or .ibin. What they hold
 * is tested with their room; here that a call which fails or is stopped leaves what was there, in any locale. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/decimal_comma.h"
#include "harness/folder.h"
#include "harness/full_disk.h"
#include "harness/threads.h"

enum { kFormats = 4 };
static const char* const formats[kFormats] = {"mtx", "tsv", "ivecs", "ibin"};
static const char* const files[kFormats] = {"g.mtx", "g.tsv", "g.ivecs", "g.ibin"};
static const char* const seconds[kFormats] = {NULL, NULL, "g.fvecs", "g.fbin"}; /* beside them */

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
  fclose(f);
}

static void expect_text(const char* path, const char* text) {
  char found[256] = "";
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  found[fread(found, 1, sizeof found - 1, f)] = '\0';
  fclose(f);
  assert_string_equal(found, text);
}

static int32_t stop_in_file(void* user, const char* stage, double done, double total) {
  ++*(int*)user;
  assert_true(done >= 0 && done <= total);
  return strcmp(stage, "write") == 0;
}

static int32_t reach_the_end(void* user, const char* stage, double done, double total) {
  assert_string_equal(stage, "write");
  assert_true(done >= 0 && done <= total);
  ++*(int*)user;
  return 0;
}

static knng_graph* large_graph(void) {
  enum { points = 60000, width = 8 };
  static int64_t ids[points * width];
  for (int64_t e = 0; e < points * width; ++e) ids[e] = (e / width + 1 + e % width) % points;
  const knng_matrix m = knng_packed(KNNG_I64, points, width, ids);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &m, NULL, 0, points, 1, NULL), "import");
  return g;
}

static void under_a_control(void** state) {
  (void)state;
  knng_graph *g = large_graph(), *back = NULL;
  for (int f = 0; f < kFormats; ++f) {
    int calls = 0;
    volatile int32_t up = 1;
    const int before = entries_of(".");
    const knng_control stopped = {.struct_size = sizeof stopped, .stop = &up};
    EXPECT_ERROR(knng_graph_save(g, files[f], NULL, &stopped, &reported), KNNG_ERR_CANCELLED, "stopped");
    const knng_control stops = {
        .struct_size = sizeof stops, .interval_ms = 1, .progress = stop_in_file, .user = &calls};
    EXPECT_ERROR(knng_graph_save(g, files[f], NULL, &stops, &reported), KNNG_ERR_CANCELLED, "stopped");
    assert_true(calls > 0);
    knng_control told = {.struct_size = sizeof told, .interval_ms = 1, .progress = reach_the_end, .user = &calls};
    told.max_bytes = 1000;
    EXPECT_ERROR(knng_graph_save(g, files[f], NULL, &told, &reported), KNNG_ERR_BUDGET, "max_bytes=1000", "at least");
    assert_int_equal(entries_of("."), before);
    told.max_bytes = reported.limit;
    calls = 0;
    expect_ok(knng_graph_save(g, files[f], NULL, &told, NULL), files[f]);
    assert_true(calls > 0);
    assert_int_equal(entries_of("."), before + (seconds[f] ? 2 : 1));
    EXPECT_ERROR(knng_graph_load(&back, files[f], NULL, &reported), KNNG_ERR_UNSUPPORTED, files[f], ".npz");
    assert_null(back);
    remove(files[f]);
    if (seconds[f]) remove(seconds[f]);
  }
  knng_control told = {.struct_size = sizeof told, .max_bytes = 1000};
  EXPECT_ERROR(knng_graph_save(g, "g.npz", NULL, &told, &reported), KNNG_ERR_BUDGET, "max_bytes=1000", "at least");
  assert_true(reported.limit <= 256 << 10);
  told.max_bytes = reported.limit;
  expect_ok(knng_graph_save(g, "g.npz", NULL, &told, NULL), "g.npz");
  knng_graph_destroy(g);
}

static void failed_writes_leave_the_old_files(void** state) {
  (void)state;
  knng_graph* g = large_graph();
  for (int f = 0; f < kFormats; ++f) {
    /* What a graph of the format begins with: nothing else is replaced. */
    const char* const old = f == 0   ? "%%MatrixMarket matrix coordinate real general\n% metric old"
                            : f == 1 ? "source\ttarget\tweight\n"
                                     : "counts and old ids";
    write_text(files[f], old);
    if (seconds[f]) write_text(seconds[f], "counts and old far");
    const int before = entries_of(".");
    const full_disk space = fill_disk();
    const knng_status status = knng_graph_save(g, files[f], NULL, NULL, NULL);
    free_disk(&space);
    EXPECT_ERROR(status, KNNG_ERR_IO, files[f]);
    expect_text(files[f], old);
    if (seconds[f]) expect_text(seconds[f], "counts and old far");
    assert_int_equal(entries_of("."), before);
    expect_ok(knng_graph_save(g, files[f], NULL, NULL, NULL), "with space again");
    assert_int_equal(entries_of("."), before);
    remove(files[f]);
    if (seconds[f]) remove(seconds[f]);
  }
  knng_graph_destroy(g);
}

/* A file that may be data stays: what is replaced is a graph, or empty. */
static void data_is_not_replaced(void** state) {
  (void)state;
  knng_graph* g = large_graph();
  static const char* const all[] = {"a.knng", "a.npz", "a.mtx", "a.tsv", "a.ivecs", "a.ibin"};
  for (size_t f = 0; f < sizeof all / sizeof *all; ++f) {
    write_text(all[f], "1\t2\n3\t4\n");
    const int before = entries_of(".");
    EXPECT_ERROR(knng_graph_save(g, all[f], NULL, NULL, &reported), KNNG_ERR_IO, all[f], "it may be data");
    assert_string_equal(reported.argument, "path");
    expect_text(all[f], "1\t2\n3\t4\n");
    assert_int_equal(entries_of("."), before);
    write_text(all[f], "");
    expect_ok(knng_graph_save(g, all[f], NULL, NULL, NULL), "over an empty file");
    expect_ok(knng_graph_save(g, all[f], NULL, NULL, NULL), "over a graph");
    if (f < 4) expect_ok(knng_graph_save(g, all[f], all[3 - f] + 2, NULL, NULL), "over a graph of another format");
  }
  static const char* const pairs[][2] = {{"a.ivecs", "a.fvecs"}, {"a.ibin", "a.fbin"}};
  for (size_t p = 0; p < 2; ++p) {
    write_text(pairs[p][1], "points, not distances");
    EXPECT_ERROR(knng_graph_save(g, pairs[p][0], NULL, NULL, &reported), KNNG_ERR_IO, pairs[p][1], "other counts");
    assert_int_equal(remove(pairs[p][1]), 0);
    EXPECT_ERROR(knng_graph_save(g, pairs[p][0], NULL, NULL, &reported), KNNG_ERR_IO, pairs[p][0],
                 "which is not there, or empty");
    assert_int_equal(remove(pairs[p][0]), 0);
    write_text(pairs[p][1], "points, not distances");
    EXPECT_ERROR(knng_graph_save(g, pairs[p][0], NULL, NULL, &reported), KNNG_ERR_IO, pairs[p][1],
                 "which is not there, or empty");
    assert_int_equal(remove(pairs[p][1]), 0);
  }
  for (size_t f = 0; f < 4; ++f) remove(all[f]);
  knng_graph_destroy(g);
}

/* A value that the second file cannot hold, when the first is complete. */
static void values_that_do_not_fit(void** state) {
  (void)state;
  const int64_t ids[] = {1, 0};
  const double values[] = {1, 1e39};
  const knng_matrix mi = knng_packed(KNNG_I64, 2, 1, ids), mv = knng_packed(KNNG_F64, 2, 1, values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &mi, &mv, 0, 2, 1, NULL), "import");
  const int before = entries_of(".");
  for (int f = 2; f < kFormats; ++f) {
    EXPECT_ERROR(knng_graph_save(g, files[f], NULL, NULL, &reported), KNNG_ERR_RANGE, "float32", files[f]);
    assert_true(reported.row == 1 && reported.col == 0);
    EXPECT_ERROR(knng_graph_save(g, "named", formats[f], NULL, &reported), KNNG_ERR_OPTION, "named", formats[f]);
  }
  assert_int_equal(entries_of("."), before);
  expect_ok(knng_graph_save(g, "named", "tsv", NULL, NULL), "named");
  expect_text("named", "source\ttarget\tweight\n0\t1\t1\n1\t0\t1e+39\n");
  knng_graph_destroy(g);
}

/* Built by the library: the same files from rows of float32, asked for as either type. */
static void values_of_a_build(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 300, 5, 9, 77);
  const char* const types[] = {"f32", "f64"};
  for (int t = 0; t < 2; ++t) {
    knng* h = HANDLE(&rows, "device", "cpu", "value_type", types[t]);
    knng_graph* g = built(h, 7);
    expect_ok(knng_graph_save(g, t ? "wide.ivecs" : "narrow.ivecs", NULL, NULL, NULL), types[t]);
    expect_ok(knng_graph_save(g, t ? "wide.ibin" : "narrow.ibin", NULL, NULL, NULL), types[t]);
    knng_graph_destroy(g);
    knng_destroy(h);
  }
  expect_same_files("narrow.ivecs", "wide.ivecs");
  expect_same_files("narrow.fvecs", "wide.fvecs");
  expect_same_files("narrow.ibin", "wide.ibin");
  expect_same_files("narrow.fbin", "wide.fbin");
  rows_free(&rows);
}

/* The last test, as it changes the locale. */
static void points_where_the_locale_has_commas(void** state) {
  (void)state;
  const int64_t ids[] = {1, 0};
  const float values[] = {0.5f, 1.25f};
  const knng_matrix mi = knng_packed(KNNG_I64, 2, 1, ids), mv = knng_packed(KNNG_F32, 2, 1, values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &mi, &mv, 0, 2, 1, NULL), "import");
  need_decimal_comma();
  expect_ok(knng_graph_save(g, "comma.tsv", NULL, NULL, NULL), "tsv");
  expect_text("comma.tsv", "source\ttarget\tweight\n0\t1\t0.5\n1\t0\t1.25\n");
  expect_ok(knng_graph_save(g, "comma.mtx", NULL, NULL, NULL), "mtx");
  expect_text(
      "comma.mtx",
      "%%MatrixMarket matrix coordinate real general\n% metric unknown, value distance\n2 2 2\n1 2 0.5\n2 1 1.25\n");
  knng_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(under_a_control),      cmocka_unit_test(failed_writes_leave_the_old_files),
      cmocka_unit_test(data_is_not_replaced), cmocka_unit_test(values_that_do_not_fit),
      cmocka_unit_test(values_of_a_build),    cmocka_unit_test(points_where_the_locale_has_commas),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
