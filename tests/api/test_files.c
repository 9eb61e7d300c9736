/* Files through the public API: graphs saved and loaded whole, rows and queries from files, and refusals that leave
 * nothing half done. The formats themselves are tested byte by byte with their rooms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/folder.h"
#include "harness/full_disk.h"
#include "harness/row_files.h"
#include "harness/threads.h"

static void write_file(const char* path, const void* data, size_t size) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  fclose(f);
}

static size_t read_whole(const char* path, unsigned char* out, size_t most) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  const size_t got = fread(out, 1, most, f);
  fclose(f);
  return got;
}

static knng_graph* loaded(const char* path) {
  knng_graph* g = NULL;
  expect_ok(knng_graph_load(&g, path, NULL, NULL), path);
  assert_non_null(g);
  return g;
}

static void graphs_come_back_whole(void** state) {
  (void)state;
  static const char* const suffixes[] = {"knng", "npz"};
  for (int variant = 0; variant < 8; ++variant) {
    test_rows rows = rows_grid(variant & 1 ? KNNG_F64 : KNNG_F32, 70, 3, 4, 141);
    knng* h = HANDLE(&rows, "device", "cpu", "self", variant & 2 ? "first" : "exclude", "metric", "cosine", "value",
                     variant & 4 ? "similarity" : "distance");
    knng_graph* g = built(h, 8);
    for (int s = 0; s < 2; ++s) {
      char path[32];
      snprintf(path, sizeof path, "graph%d.%s", variant, suffixes[s]);
      expect_ok(knng_graph_save(g, path, NULL, NULL, NULL), path);
      expect_ok(knng_graph_save(g, "named", suffixes[s], NULL, NULL), "named format");
      knng_graph *back = loaded(path), *named = loaded("named");
      expect_same_graph(g, back, path);
      expect_same_graph(g, named, "named format");
      if (s == 0) { /* this format keeps everything */
        unsigned char a[70], b[70];
        knng_matrix ma = knng_packed(KNNG_U8, 70, 1, a), mb = knng_packed(KNNG_U8, 70, 1, b);
        static const char* const columns[] = {"ties", "proof"};
        for (int c = 0; c < 2; ++c) {
          expect_ok(knng_graph_rows(g, columns[c], &ma, NULL), columns[c]);
          expect_ok(knng_graph_rows(back, columns[c], &mb, NULL), columns[c]);
          assert_memory_equal(a, b, sizeof a);
        }
        const char* name = NULL;
        for (int32_t i = 0; knng_stat_name(i, &name, NULL, NULL) == KNNG_OK; ++i)
          assert_true(stat_of(g, name) == stat_of(back, name));
        static const char* const texts[] = {"metric",  "precision",   "engine", "selector", "device",
                                            "version", "fingerprint", "value",  "self"};
        for (int t = 0; t < 9; ++t) {
          char left[200], right[200];
          expect_ok(knng_graph_text(g, texts[t], left, sizeof left, NULL, NULL), texts[t]);
          expect_ok(knng_graph_text(back, texts[t], right, sizeof right, NULL, NULL), texts[t]);
          assert_string_equal(left, right);
        }
        int64_t wrong = 0;
        expect_ok(knng_check(h, back, 0, NULL, &wrong, NULL), "knng_check");
        assert_int_equal(wrong, -1);
      }
      knng_graph_destroy(back);
      knng_graph_destroy(named);
    }
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
}

/* Whatever engine counted in them. */
static void graphs_of_few_rows_come_back(void** state) {
  (void)state;
  static const engine_case engines[] = {
      {"auto", "auto"},       {"tree", "auto"},        {"fused", "auto"},  {"direct", "auto"},
      {"tiled", "insertion"}, {"tiled", "batch_sort"}, {"tiled", "quick"}, {NULL, NULL}};
  int turn = 0;
  for (int64_t n = 1; n <= 34; n += n < 3 ? 1 : 5)
    for (int64_t nq = 0; nq < 3; ++nq) {
      if (n == 1 && nq == 0) continue;
      test_rows rows = rows_grid(KNNG_F32, n, 3, n % 2 ? 2 : 5, 148), queries = rows_grid(KNNG_F32, 2, 3, 5, 149);
      queries.n = nq;
      for (int m = 0; m < metric_count(); ++m)
        for (const engine_case* e = engines; e->engine; ++e) {
          if (!tried(turn++, 7)) continue;
          if (!metric_takes(&metric_cases[m], &rows) || (nq && !metric_takes(&metric_cases[m], &queries))) continue;
          knng* h = HANDLE(&rows, "device", "cpu");
          set_metric(h, &metric_cases[m]);
          set_engine(h, e);
          char label[100];
          snprintf(label, sizeof label, "%lld queries of %lld rows, %s, engine=%s", (long long)nq, (long long)n,
                   metric_cases[m].metric, e->engine);
          const knng_matrix asked = matrix_of(&queries);
          knng_graph* g = NULL;
          const knng_status made =
              nq ? knng_query(h, &asked, NULL, 0, n, NULL, &g, NULL) : knng_build(h, n - 1, NULL, &g, NULL);
          if (made != KNNG_ERR_UNSUPPORTED) { /* an engine that the metric has */
            expect_ok(made, label);
            expect_comes_back(g, label);
          }
          knng_graph_destroy(g);
          knng_destroy(h);
        }
      rows_free(&rows);
      rows_free(&queries);
    }
}

/* A damaged file is never taken for a graph: every truncation, and every byte changed (in a small run in one bit of
 * two). */
static void damage_is_noticed(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 12, 2, 4, 143);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, 2);
  expect_ok(knng_graph_save(g, "whole.knng", NULL, NULL, NULL), "save");
  static unsigned char bytes[20000];
  const size_t size = read_whole("whole.knng", bytes, sizeof bytes);
  assert_true(size > 0 && size < sizeof bytes);
  knng_graph* back = NULL;
  for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 7) {
    write_file("damaged.knng", bytes, cut);
    EXPECT_ERROR(knng_graph_load(&back, "damaged.knng", NULL, &reported), KNNG_ERR_FORMAT, "damaged.knng");
    assert_null(back);
  }
  for (size_t at = 0; at < size; ++at)
    for (int bit = 0; bit < 8; bit += 7) {
      if (!tried((int)at * 2 + bit / 7, 2)) continue;
      bytes[at] ^= (unsigned char)(1 << bit);
      write_file("damaged.knng", bytes, size);
      const knng_status status = knng_graph_load(&back, "damaged.knng", NULL, NULL);
      if (status == KNNG_OK) fail_msg("byte %d can change without being noticed", (int)at);
      if (status != KNNG_ERR_FORMAT && status != KNNG_ERR_UNSUPPORTED)
        fail_msg("byte %d: status %d", (int)at, (int)status);
      assert_null(back);
      bytes[at] ^= (unsigned char)(1 << bit);
    }
  bytes[size] = 0; /* one byte too many */
  write_file("damaged.knng", bytes, size + 1);
  EXPECT_ERROR(knng_graph_load(&back, "damaged.knng", NULL, &reported), KNNG_ERR_FORMAT, "damaged.knng");
  write_file("damaged.knng", bytes, size);
  knng_graph_destroy(loaded("damaged.knng"));
  EXPECT_ERROR(knng_graph_load(&back, "missing.knng", NULL, &reported), KNNG_ERR_IO, "missing.knng", "No such file");
  EXPECT_ERROR(knng_graph_load(&back, ".", NULL, &reported), KNNG_ERR_IO, ".");
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static int32_t count_calls(void* user, const char* stage, double done, double total) {
  assert_true(*stage && done >= 0 && done <= total);
  return ++*(int*)user < 0;
}

/* As soon as there is a file that is half done. */
static int32_t stop_in_file(void* user, const char* stage, double done, double total) {
  ++*(int*)user;
  assert_true(done >= 0 && done <= total);
  return strcmp(stage, "write") == 0 || strcmp(stage, "read") == 0;
}

/* Saving and loading tell how far they are, stop when they are asked to, and keep to a byte limit. */
static void files_under_a_control(void** state) {
  (void)state;
  enum { points = 40000, width = 8 };
  static int64_t ids[points * width];
  for (int64_t e = 0; e < points * width; ++e) ids[e] = (e / width + 1 + e % width) % points;
  const knng_matrix m = knng_packed(KNNG_I64, points, width, ids);
  knng_graph *g = NULL, *back = NULL;
  expect_ok(knng_graph_import(&g, &m, NULL, 0, points, 1, NULL), "import");
  static const char* const files[] = {"controlled.knng", "controlled.npz"};
  for (int f = 0; f < 2; ++f) {
    int calls = 0;
    volatile int32_t up = 1;
    const knng_control stopped = {.struct_size = sizeof stopped, .stop = &up};
    EXPECT_ERROR(knng_graph_save(g, files[f], NULL, &stopped, &reported), KNNG_ERR_CANCELLED, "stopped");
    const knng_control stops = {.struct_size = sizeof stops, .progress = stop_in_file, .user = &calls};
    EXPECT_ERROR(knng_graph_save(g, files[f], NULL, &stops, &reported), KNNG_ERR_CANCELLED, "stopped");
    assert_int_not_equal(access(files[f], F_OK), 0);
    calls = 0;
    knng_control told = {.struct_size = sizeof told, .interval_ms = 1, .progress = count_calls, .user = &calls};
    expect_ok(knng_graph_save(g, files[f], NULL, &told, NULL), files[f]);
    assert_true(calls > 0);
    EXPECT_ERROR(knng_graph_load(&back, files[f], &stopped, &reported), KNNG_ERR_CANCELLED, "stopped");
    calls = 0;
    EXPECT_ERROR(knng_graph_load(&back, files[f], &stops, &reported), KNNG_ERR_CANCELLED, "stopped");
    assert_null(back);
    calls = 0;
    expect_ok(knng_graph_load(&back, files[f], &told, NULL), files[f]);
    assert_true(calls > 0);
    expect_same_graph(g, back, files[f]);
    knng_graph_destroy(back);
    back = NULL;

    knng_control limited = {.struct_size = sizeof limited, .max_bytes = 1000};
    EXPECT_ERROR(knng_graph_load(&back, files[f], &limited, &reported), KNNG_ERR_BUDGET, "max_bytes=1000", "at least");
    assert_null(back);
    const int64_t needed = reported.limit;
    assert_true(needed > points * width * 12 && needed < points * width * 13);
    limited.max_bytes = needed;
    expect_ok(knng_graph_load(&back, files[f], &limited, NULL), "with as much as it said");
    knng_graph_destroy(back);
    back = NULL;
  }
  knng_graph_destroy(g);
}

static void failed_writes_leave_the_old_file(void** state) {
  (void)state;
  test_rows rows = rows_grid(KNNG_F32, 2000, 2, 9, 144);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, 9);
  knng_graph* old = built(h, 2);
  enum { most = 1 << 18 };
  unsigned char *kept = malloc(most), *content = malloc(most);
  static const char* const targets[] = {"target.knng", "target.npz"};
  for (int t = 0; t < 2; ++t) {
    expect_ok(knng_graph_save(old, targets[t], NULL, NULL, NULL), targets[t]);
    const size_t old_bytes = read_whole(targets[t], kept, most);
    assert_true(old_bytes > 0 && old_bytes < most);
    const int before = entries_of(".");
    const full_disk space = fill_disk();
    const knng_status status = knng_graph_save(g, targets[t], NULL, NULL, NULL);
    free_disk(&space);
    EXPECT_ERROR(status, KNNG_ERR_IO, targets[t]);
    assert_int_equal(read_whole(targets[t], content, most), old_bytes);
    assert_memory_equal(content, kept, old_bytes);
    assert_int_equal(entries_of("."), before);
    expect_ok(knng_graph_save(g, targets[t], NULL, NULL, NULL), "with space again");
    assert_int_equal(entries_of("."), before);
    knng_graph* back = loaded(targets[t]);
    expect_same_graph(g, back, targets[t]);
    knng_graph_destroy(back);
  }
  EXPECT_ERROR(knng_graph_save(g, "no/such/folder/graph.knng", NULL, NULL, &reported), KNNG_ERR_IO, "no/such/folder");
  assert_int_equal(mkdir("folder.knng", 0777), 0);
  EXPECT_ERROR(knng_graph_save(g, "folder.knng", NULL, NULL, &reported), KNNG_ERR_IO, "folder.knng");
  assert_int_equal(entries_of("folder.knng"), 0);
  free(kept);
  free(content);
  knng_graph_destroy(old);
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static void expect_file_rows(const char* path, const test_rows* rows) {
  knng* h = HANDLE(NULL, NULL);
  expect_ok(knng_add_file(h, path, NULL, NULL), path);
  int64_t n = 0, d = 0;
  int32_t dtype = 0;
  expect_ok(knng_shape(h, &n, &d, &dtype, NULL), path);
  assert_true(n == rows->n && d == rows->d && dtype == rows->dtype);
  double* back = malloc(sizeof(double) * (size_t)(n * d));
  knng_matrix m = knng_packed(KNNG_F64, n, d, back);
  expect_ok(knng_read(h, 0, &m, NULL), path);
  assert_memory_equal(back, rows->x, sizeof(double) * (size_t)(n * d));
  free(back);
  knng_destroy(h);
}

static void rows_from_numpy_files(void** state) {
  (void)state;
  static const struct {
    int32_t dtype;
    const char *little, *big;
  } types[] = {{KNNG_F32, "<f4", ">f4"}, {KNNG_F64, "<f8", ">f8"}, {KNNG_F16, "<f2", ">f2"}, {KNNG_U8, "|u1", "|u1"},
               {KNNG_I8, "|i1", "|i1"},  {KNNG_U16, "<u2", ">u2"}, {KNNG_I16, "<i2", ">i2"}, {KNNG_U32, "<u4", ">u4"},
               {KNNG_I32, "<i4", ">i4"}, {KNNG_U64, "<u8", ">u8"}, {KNNG_I64, "<i8", ">i8"}, {KNNG_BOOL, "|b1", "|b1"}};
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    const int64_t n = 31, d = 5, size = dtype_size(types[t].dtype);
    test_rows rows = rows_normal(types[t].dtype, n, d, 145);
    char turned[31 * 5 * 8], swapped[31 * 5 * 8];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < d; ++j)
        for (int64_t b = 0; b < size; ++b) {
          const char byte = ((char*)rows.data)[(i * d + j) * size + b];
          turned[(j * n + i) * size + b] = byte;
          swapped[(i * d + j) * size + size - 1 - b] = byte;
        }
    write_npy("rows.npy", types[t].little, 0, n, d, rows.data, (size_t)(n * d * size));
    expect_file_rows("rows.npy", &rows);
    write_npy("rows.npy", types[t].little, 1, n, d, turned, (size_t)(n * d * size));
    expect_file_rows("rows.npy", &rows);
    write_npy("rows.npy", types[t].big, 0, n, d, swapped, (size_t)(n * d * size));
    expect_file_rows("rows.npy", &rows);
    rows_free(&rows);
  }
}

static void rows_from_idx_files(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_U8, 10, 6, 146);
  unsigned char file[16 + 60] = {0, 0, 8, 3, 0, 0, 0, 10, 0, 0, 0, 2, 0, 0, 0, 3}; /* 10 x 2 x 3 bytes */
  memcpy(file + 16, rows.data, 60);
  write_file("rows-ubyte", file, sizeof file);
  expect_file_rows("rows-ubyte", &rows);
  write_file("rows.idx", file, sizeof file);
  expect_file_rows("rows.idx", &rows);
  assert_int_equal(system("gzip -kf rows-ubyte"), 0);
  expect_file_rows("rows-ubyte.gz", &rows);
  rows_free(&rows);
}

static void queries_from_a_file(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 60, 5, 147), queries = rows_normal(KNNG_F64, 9, 5, 148);
  write_npy("queries.npy", "<f8", 0, 9, 5, queries.data, 9 * 5 * 8);
  knng* h = HANDLE(&rows, "device", "cpu");
  const knng_matrix m = matrix_of(&queries);
  knng_graph *memory = NULL, *file = NULL;
  expect_ok(knng_query(h, &m, NULL, 0, 7, NULL, &memory, NULL), "knng_query");
  expect_ok(knng_query_file(h, "queries.npy", 7, NULL, &file, NULL), "knng_query_file");
  expect_same_graph(memory, file, "queries from memory and file");
  knng_graph_destroy(file);
  EXPECT_ERROR(knng_query_file(h, "none.npy", 7, NULL, &file, &reported), KNNG_ERR_IO, "none.npy");
  assert_null(file);
  knng_graph_destroy(memory);
  knng_destroy(h);
  rows_free(&rows);
  rows_free(&queries);
}

/* Integers just beyond what rows may have, and far beyond; bools that are none. From memory and from files, whether
 * these are read or rows stay in them; and in queries. */
static void integers_that_are_not_exact(void** state) {
  (void)state;
  const int64_t limit = INT64_C(1) << 53;
  const struct {
    int32_t dtype;
    uint64_t bits;
    const char* word;
    int64_t given, limit;
  } cases[] = {
      {KNNG_I64, (uint64_t)(limit + 1), "9007199254740993", limit + 1, limit},
      {KNNG_I64, (uint64_t)(-limit - 1), "-9007199254740993", -limit - 1, -limit},
      {KNNG_I64, (uint64_t)1 << 63, "-9223372036854775808", INT64_MIN, -limit},
      {KNNG_I64, UINT64_MAX >> 1, "9223372036854775807", INT64_MAX, limit},
      {KNNG_U64, (uint64_t)(limit + 1), "9007199254740993", limit + 1, limit},
      {KNNG_U64, (uint64_t)1 << 63, "9223372036854775808", -1, limit},
      {KNNG_U64, UINT64_MAX, "18446744073709551615", -1, limit},
      {KNNG_BOOL, 2, "bool", 2, 1},
      {KNNG_BOOL, 255, "bool", 255, 1},
  };
  enum { n = 50, d = 21, row = 33, col = 7 };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    test_rows rows = rows_normal(cases[c].dtype, n, d, 92);
    const size_t size = (size_t)dtype_size(cases[c].dtype);
    memcpy((char*)rows.data + (row * d + col) * size, &cases[c].bits, size);
    memcpy((char*)rows.data + (row * d + col + 5) * size, &cases[c].bits, size); /* the first is named */
    write_rows("bad.npy", &rows);
    const knng_matrix m = matrix_of(&rows);
    test_rows good = rows_normal(cases[c].dtype, n, d, 93);
    knng *h = HANDLE(NULL, "threads", "1"), *asked = HANDLE(&good, "device", "cpu");
    knng_graph* g = NULL;
    for (int way = 0; way < 6; ++way) {
      if (way == 3) set_bytes(h, "max_host_bytes", n * d * dtype_size(cases[c].dtype)); /* rows would stay there */
      const knng_status status = way == 0   ? knng_add(h, &m, NULL, &reported)
                                 : way == 1 ? knng_borrow(h, &m, NULL, &reported)
                                 : way <= 3 ? knng_add_file(h, "bad.npy", NULL, &reported)
                                 : way == 4 ? knng_query(asked, &m, NULL, 0, 3, NULL, &g, &reported)
                                            : knng_query_file(asked, "bad.npy", 3, NULL, &g, &reported);
      EXPECT_ERROR(status, KNNG_ERR_DATA, cases[c].word);
      assert_int_equal(reported.row, row);
      assert_int_equal(reported.col, col);
      assert_int_equal(reported.given, cases[c].given);
      assert_int_equal(reported.limit, cases[c].limit);
      assert_null(g);
    }
    int64_t left = -1;
    expect_ok(knng_shape(h, &left, NULL, NULL, NULL), "knng_shape");
    assert_int_equal(left, 0);
    knng_destroy(h);
    knng_destroy(asked);
    rows_free(&rows);
    rows_free(&good);
  }
}

static void bad_row_files(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 20, 4, 149);
  knng* h = HANDLE(&rows, "device", "cpu");
  float x[80];
  memcpy(x, rows.data, sizeof x);
  EXPECT_ERROR(knng_add_file(h, "missing.npy", NULL, &reported), KNNG_ERR_IO, "missing.npy", "No such file");
  EXPECT_ERROR(knng_add_file(h, ".", NULL, &reported), KNNG_ERR_UNSUPPORTED, ".");
  write_file("rows.xyz", "1 2 3", 5);
  EXPECT_ERROR(knng_add_file(h, "rows.xyz", NULL, &reported), KNNG_ERR_UNSUPPORTED, "rows.xyz", ".npy");
  write_file("empty.npy", "", 0);
  EXPECT_ERROR(knng_add_file(h, "empty.npy", NULL, &reported), KNNG_ERR_FORMAT, "empty.npy");
  write_file("text.npy", "this is no array of numbers, whatever its name says", 51);
  EXPECT_ERROR(knng_add_file(h, "text.npy", NULL, &reported), KNNG_ERR_FORMAT, "text.npy");
  write_npy("short.npy", "<f4", 0, 20, 4, x, sizeof x - 1);
  EXPECT_ERROR(knng_add_file(h, "short.npy", NULL, &reported), KNNG_ERR_FORMAT, "short.npy");
  write_npy("wide.npy", "<f4", 0, 16, 5, x, sizeof x);
  EXPECT_ERROR(knng_add_file(h, "wide.npy", NULL, &reported), KNNG_ERR_ARGUMENT, "5", "4");
  write_npy("double.npy", "<f8", 0, 10, 4, x, sizeof x);
  EXPECT_ERROR(knng_add_file(h, "double.npy", NULL, &reported), KNNG_ERR_ARGUMENT, "float64", "float32");
  write_npy("integers.npy", "<i4", 0, 20, 4, x, sizeof x);
  EXPECT_ERROR(knng_add_file(h, "integers.npy", NULL, &reported), KNNG_ERR_ARGUMENT, "int32", "float32");
  write_npy("complex.npy", "<c8", 0, 10, 4, x, sizeof x);
  EXPECT_ERROR(knng_add_file(h, "complex.npy", NULL, &reported), KNNG_ERR_UNSUPPORTED, "complex.npy", "c8", "bool");
  write_npy("huge.npy", "<f4", 0, INT64_MAX, 4, x, sizeof x);
  assert_int_not_equal(knng_add_file(h, "huge.npy", NULL, NULL), KNNG_OK);
  ((uint32_t*)(void*)x)[4 * 9 + 2] = 0x7f800000; /* infinity */
  write_npy("infinite.npy", "<f4", 0, 20, 4, x, sizeof x);
  EXPECT_ERROR(knng_add_file(h, "infinite.npy", NULL, &reported), KNNG_ERR_DATA, "9", "2");
  int64_t n = 0;
  expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(n, 20);
  knng_graph_destroy(built(h, 3));
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_come_back_whole),
      cmocka_unit_test(graphs_of_few_rows_come_back),
      cmocka_unit_test(damage_is_noticed),
      cmocka_unit_test(files_under_a_control),
      cmocka_unit_test(failed_writes_leave_the_old_file),
      cmocka_unit_test(rows_from_numpy_files),
      cmocka_unit_test(rows_from_idx_files),
      cmocka_unit_test(queries_from_a_file),
      cmocka_unit_test(integers_that_are_not_exact),
      cmocka_unit_test(bad_row_files),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
