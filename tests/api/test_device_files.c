/* Rows that stay in their files: graphs of the same bits, no more memory than allowed, and no file that has changed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/devices.h"
#include "harness/folder.h"
#include "harness/fork.h"
#include "harness/row_files.h"

static int64_t bytes_of(const test_rows* rows) { return rows->n * rows->d * dtype_size(rows->dtype); }

/* The file's rows, none of which memory may hold when they are added: they stay. */
static void add_staying(knng* h, const char* path, const test_rows* rows) {
  set_bytes(h, "max_host_bytes", bytes_of(rows));
  expect_ok(knng_add_file(h, path, NULL, NULL), path);
}

static knng* staying(const question* q, const char* path, const char* device) {
  knng* h =
      HANDLE(NULL, "device", device, "self", q->self, "value", q->value, "value_type", q->value_type, "threads", "2");
  set_metric(h, &q->metric);
  add_staying(h, path, q->rows);
  return h;
}

static void every_format_within_less_than_its_size(void** state) {
  (void)state;
  static const struct {
    const char* path;
    int32_t dtype;
  } files[] = {{"x.fbin", KNNG_F32},  {"x.npy", KNNG_F32},  {"y.npy", KNNG_F64},  {"z.npy", KNNG_F16},
               {"u.npy", KNNG_U8},    {"i.npy", KNNG_I8},   {"x.u8bin", KNNG_U8}, {"x.i8bin", KNNG_I8},
               {"x.fvecs", KNNG_F32}, {"x.bvecs", KNNG_U8}, {"x-ubyte", KNNG_U8}, {"x.ivecs", KNNG_I32},
               {"x.ibin", KNNG_I32},  {"a.npy", KNNG_U16},  {"b.npy", KNNG_I16},  {"c.npy", KNNG_U32},
               {"d.npy", KNNG_I32},   {"e.npy", KNNG_U64},  {"f.npy", KNNG_I64},  {"g.npy", KNNG_BOOL}};
  for (size_t f = 0; f < sizeof files / sizeof *files; ++f) {
    if (small_run() && f % 3 != 2) continue;
    test_rows rows = rows_positive(files[f].dtype, 400, 301, 501 + f);
    write_rows(files[f].path, &rows);
    question q = question_of(&rows, &metric_cases[f % (small_run() ? 11 : METRIC_CASES)], 5); /* 11: no pow() */
    knng_error failure;
    knng_graph* expected = answer_of_cpu(&q, &failure);
    for (const char* const* set = device_sets(); *set; ++set) {
      if ((!fake_devices || small_run()) && (f + (size_t)(set - device_sets())) % 4) continue;
      knng* h = staying(&q, files[f].path, *set);
      const knng_plan free = planned(h, 0, q.k);
      assert_true(free.smallest_host < bytes_of(&rows) || !fake_devices);
      for (int blocks = 0; blocks < 2; ++blocks) { /* all rows on a device, and as few as possible */
        char label[80];
        snprintf(label, sizeof label, "%s on %s, blocks=%d", files[f].path, *set, blocks);
        if (blocks) give_least_memory(h, 0, q.k, 0);
        if (!fake_devices) set_bytes(h, "max_host_bytes", 0); /* page-locked buffers are larger than the file */
        knng_graph* g = NULL;
        expect_ok(knng_build(h, q.k, NULL, &g, NULL), label);
        expect_as_from_memory(expected, g, label);
        if (fake_devices) assert_true(stat_of(g, "bytes_host_peak") <= (double)bytes_of(&rows));
        knng_graph_destroy(g);
      }
      knng_destroy(h);
    }
    knng_graph_destroy(expected);
    rows_free(&rows);
  }
}

/* In kB, the most that was resident so far. */
static long resident_peak(void) {
  char line[128];
  long peak = -1;
  FILE* f = fopen("/proc/self/status", "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %ld", &peak) == 1) break;
  fclose(f);
  assert_true(peak > 0);
  return peak;
}

/* The process itself stays small, not only what the library counts. */
static void memory_is_really_less(void** state) {
  (void)state;
  if (small_run() || !fake_devices) skip(); /* sanitizers and CUDA have memory of their own */
  enum { n = 8192, d = 2048 };
  uint64_t seed = 503;
  FILE* f = fopen("large.fbin", "wb");
  assert_non_null(f);
  const uint32_t shape[2] = {n, d};
  assert_int_equal(fwrite(shape, sizeof shape, 1, f), 1);
  float row[d], first[4 * d];
  for (int i = 0; i < n; ++i) {
    for (int t = 0; t < d; ++t) row[t] = (float)(random_bits(&seed) >> 60);
    if (i % (n / 4) == 5) memcpy(first + i / (n / 4) * d, row, sizeof row);
    assert_int_equal(fwrite(row, sizeof row, 1, f), 1);
  }
  fclose(f);
  knng* h = HANDLE(NULL, "device", "cuda:0", "max_host_bytes", "16MiB", "max_device_bytes", "16MiB", "threads", "2");
  const long before = resident_peak();
  expect_ok(knng_add_file(h, "large.fbin", NULL, NULL), "64 MiB");
  knng_graph* g = NULL;
  const knng_matrix q = knng_packed(KNNG_F32, 4, d, first);
  expect_ok(knng_query(h, &q, NULL, 0, 1, NULL, &g, NULL), "queries");
  const long grown = resident_peak() - before;
  if (grown > 40 << 10) fail_msg("%ld kB more were resident", grown);
  assert_true(stat_of(g, "bytes_host_peak") <= 16 << 20);
  assert_true(stat_of(g, "bytes_device_peak") <= 16 << 20);
  int64_t id = 0;
  double value = 1;
  for (int64_t i = 0; i < 4; ++i) {
    knng_matrix ids = {.struct_size = sizeof ids}, values = ids;
    expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
    id = ((int64_t*)ids.data)[i];
    value = ((float*)values.data)[i];
    assert_true(id == i * (n / 4) + 5 && value == 0);
  }
  knng_graph_destroy(g);
  knng_destroy(h);
  unlink("large.fbin");
}

/* A data set of two files, rows that were copied and rows that were borrowed; its queries stay in a file, too. */
static void files_and_memory_together(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 500, 301, 504), queries = rows_normal(KNNG_F32, 150, 301, 505);
  static const int64_t ends[] = {120, 250, 260, 500};
  knng* h = HANDLE(NULL, "device", "cuda:0", "metric", "cosine", "threads", "2");
  for (int part = 0; part < 4; ++part) {
    const int64_t first = part ? ends[part - 1] : 0;
    test_rows some = rows;
    some.n = ends[part] - first;
    some.data = (char*)rows.data + first * rows.d * 4;
    knng_matrix m = matrix_of(&some);
    if (part == 1) {
      expect_ok(knng_borrow(h, &m, NULL, NULL), "borrow");
    } else if (part == 2) {
      expect_ok(knng_set(h, "max_host_bytes", "0", NULL), "no limit");
      expect_ok(knng_add(h, &m, NULL, NULL), "add");
    } else {
      const char* const path = part ? "b.fvecs" : "a.npy";
      write_rows(path, &some);
      add_staying(h, path, &some);
    }
  }
  question q = question_of(&rows, &metric_cases[0], 6);
  for (int m = 0; m < METRIC_CASES; ++m)
    if (strcmp(metric_cases[m].metric, "cosine") == 0) q.metric = metric_cases[m];
  knng_error failure;
  knng_graph* expected = answer_of_cpu(&q, &failure);
  q.queries = &queries;
  knng_graph *nearest = answer_of_cpu(&q, &failure), *g = NULL;
  write_rows("queries.fbin", &queries);
  for (const char* const* set = device_sets(); *set; ++set)
    for (int blocks = 0; blocks < 3; ++blocks) {
      expect_ok(knng_set(h, "device", *set, NULL), *set);
      set_bytes(h, "max_host_bytes", fake_devices ? 250000 : 0); /* the files' rows and the queries take 625,000 */
      set_bytes(h, "max_device_bytes", 0);
      if (blocks == 1) set_bytes(h, "max_device_bytes", planned(h, 0, 6).smallest_device);
      if (blocks == 2) give_least_memory(h, 0, 6, 0);
      expect_ok(knng_build(h, 6, NULL, &g, NULL), *set);
      expect_as_from_memory(expected, g, *set);
      knng_graph_destroy(g);
      set_bytes(h, "max_device_bytes", 0);
      set_bytes(h, "max_device_bytes", blocks ? planned(h, 150, 6).smallest_device : 0);
      set_bytes(h, "max_host_bytes", 200000); /* for the queries */
      if (fake_devices) {
        expect_ok(knng_query_file(h, "queries.fbin", 6, NULL, &g, NULL), *set);
        expect_same(nearest, g, *set);
        knng_graph_destroy(g);
      }
    }
  knng_destroy(h);
  knng_graph_destroy(expected);
  knng_graph_destroy(nearest);
  rows_free(&rows);
  rows_free(&queries);
}

/* What a metric refuses, in a row that is checked and in one that is not. */
static void refused_rows_are_numbered_in_parts(void) {
  test_rows rows = rows_positive(KNNG_F32, 300, 301, 516);
  test_rows right = rows_positive(KNNG_F32, 300, 301, 516);
  question q = question_of(&right, &metric_cases[5], 4);
  assert_string_equal(q.metric.metric, "hellinger");
  knng_error failure;
  knng_graph* g = answer_of_cpu(&q, &failure);
  ((float*)rows.data)[100 * 301 + 3] = -1;
  write_rows("refused.fbin", &rows);
  q.rows = &rows;
  knng* h = staying(&q, "refused.fbin", "cpu");
  set_bytes(h, "max_host_bytes", 150000);
  int64_t wrong = 0;
  EXPECT_ERROR(knng_check(h, g, 3, NULL, &wrong, &reported), KNNG_ERR_DATA, "row 100", "column 3");
  EXPECT_ERROR(knng_check(h, g, 7, NULL, &wrong, &reported), KNNG_ERR_DATA, "row 100", "column 3");
  knng_destroy(h);
  knng_graph_destroy(g);
  rows_free(&rows);
  rows_free(&right);
}

/* With less memory than the rows take, they are met part by part. */
static void graphs_are_checked_in_parts(knng* h, const test_rows* rows, const knng_graph* g) {
  static const int64_t samples[] = {0, 1, 7, 299};
  knng_matrix ids = {.struct_size = sizeof ids}, values = ids;
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  for (int part = 2; part < 4; ++part) { /* a dozen rows at a time in the end */
    set_bytes(h, "max_host_bytes", bytes_of(rows) / part);
    int64_t wrong = 0;
    for (int s = 0; s < 4; ++s) {
      expect_ok(knng_check(h, g, samples[s], NULL, &wrong, NULL), "knng_check");
      assert_int_equal(wrong, -1);
    }
    /* One value of row 271 differs, in its last bit; row 280 has a wrong id besides. */
    float changed[300 * 4];
    int64_t others[300 * 4];
    memcpy(changed, values.data, sizeof changed);
    memcpy(others, ids.data, sizeof others);
    uint32_t bits;
    memcpy(&bits, changed + 271 * 4 + 3, sizeof bits);
    ++bits;
    memcpy(changed + 271 * 4 + 3, &bits, sizeof bits);
    others[280 * 4] = others[280 * 4 + 1];
    others[280 * 4 + 1] = ((int64_t*)ids.data)[280 * 4];
    const knng_matrix i = knng_packed(KNNG_I64, 300, 4, others), v = knng_packed(KNNG_F32, 300, 4, changed);
    knng_graph* bad = NULL;
    expect_ok(knng_graph_import(&bad, &i, &v, 0, i.rows, 1, NULL), "import");
    expect_ok(knng_check(h, bad, 0, NULL, &wrong, NULL), "knng_check");
    assert_int_equal(wrong, 271);
    knng_graph_destroy(bad);
  }
  refused_rows_are_numbered_in_parts();
}

/* Work on the CPU has copies for as long as it takes: if there is room. */
static void the_cpu_copies_them(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 301, 506);
  write_rows("cpu.fvecs", &rows);
  question q = question_of(&rows, &metric_cases[1], 4);
  knng_error failure;
  knng_graph *expected = answer_of_cpu(&q, &failure), *g = NULL;
  knng* h = staying(&q, "cpu.fvecs", "cpu");
  EXPECT_ERROR(knng_build(h, 4, NULL, &g, &reported), KNNG_ERR_BUDGET, "max_host_bytes", "smallest", "files", "GPU");
  assert_null(g);
  const int64_t smallest = planned(h, 0, 4).smallest_host;
  assert_true(smallest > bytes_of(&rows));
  set_bytes(h, "max_host_bytes", smallest - 1);
  EXPECT_ERROR(knng_build(h, 4, NULL, &g, &reported), KNNG_ERR_BUDGET, "max_host_bytes");
  set_bytes(h, "max_host_bytes", smallest);
  expect_ok(knng_build(h, 4, NULL, &g, NULL), "exactly enough");
  expect_as_from_memory(expected, g, "cpu");
  assert_true(stat_of(g, "bytes_host_peak") <= (double)smallest);
  set_bytes(h, "max_host_bytes", 0);
  int64_t wrong = 0;
  expect_ok(knng_check(h, g, 0, NULL, &wrong, NULL), "knng_check");
  assert_int_equal(wrong, -1);
  knng_graph_destroy(g);
  graphs_are_checked_in_parts(h, &rows, expected);
  /* They come back as they are, from a file as from memory; within what there is for anything. */
  set_bytes(h, "max_host_bytes", 1);
  double* back = malloc(sizeof(double) * 100 * 301);
  assert_non_null(back);
  knng_matrix m = knng_packed(KNNG_F64, 100, 301, back);
  expect_ok(knng_read(h, 150, &m, NULL), "knng_read");
  assert_memory_equal(back, rows.x + 150 * 301, sizeof(double) * 100 * 301);
  free(back);
  /* device=auto goes where rows need not be copied, however few they are. */
  set_bytes(h, "max_host_bytes", 0);
  expect_ok(knng_set(h, "device", "auto", NULL), "auto");
  g = built(h, 4);
  char text[160];
  expect_ok(knng_graph_text(g, "device", text, sizeof text, NULL, NULL), "device");
  assert_true(strncmp(text, "cuda:", 5) == 0);
  expect_same(expected, g, "auto");
  knng_graph_destroy(g);
  /* They go on there in whatever memory others leave, however slowly. */
  if (fake_devices) {
    char behaviour[48];
    snprintf(behaviour, sizeof behaviour, "0:holds=%lld", (long long)planned(h, 0, 4).smallest_device);
    devices_behave(behaviour);
    g = built(h, 4);
    expect_same(expected, g, behaviour);
    knng_graph_destroy(g);
    devices_behave("");
  }
  knng_destroy(h);
  knng_graph_destroy(expected);
  rows_free(&rows);
}

/* Rows that do not lie in their file as in memory have to be read whole; columns come through a block beside them. */
static void some_files_cannot_stay(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 60, 40, 507);
  write_npy("fortran.npy", "<f4", 1, 60, 40, rows.data, (size_t)bytes_of(&rows));
  write_npy("big.npy", ">f4", 0, 60, 40, rows.data, (size_t)bytes_of(&rows));
  knng* h = HANDLE(NULL, "max_host_bytes", "9000");
  EXPECT_ERROR(knng_add_file(h, "fortran.npy", NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes=9000", "19200");
  EXPECT_ERROR(knng_add_file(h, "big.npy", NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes=9000", "9600");
  /* Even what is kept of rows that stay is too much. */
  write_rows("small.fbin", &rows);
  set_bytes(h, "max_host_bytes", 100);
  EXPECT_ERROR(knng_add_file(h, "small.fbin", NULL, &reported), KNNG_ERR_BUDGET, "max_host_bytes=100");
  int64_t n = -1;
  expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(n, 0);
  knng_destroy(h);
  rows_free(&rows);
}

static void what_is_wrong_in_a_file_is_named(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 5000, 30, 508);
  ((uint32_t*)rows.data)[4321 * 30 + 7] = 0x7f800000; /* infinity, in a later block */
  ((uint32_t*)rows.data)[4321 * 30 + 9] = 0x7fc00000; /* NaN */
  ((uint32_t*)rows.data)[4800 * 30 + 1] = 0x7fc00000;
  for (int f = 0; f < 2; ++f) {
    const char* const path = f ? "bad.fvecs" : "bad.npy";
    write_rows(path, &rows);
    knng* h = HANDLE(NULL, "threads", f ? "1" : "4");
    set_bytes(h, "max_host_bytes", bytes_of(&rows));
    EXPECT_ERROR(knng_add_file(h, path, NULL, &reported), KNNG_ERR_DATA, path, "row 4321", "column 7", "infinite");
    const knng_error e = reported;
    assert_true(e.row == 4321 && e.col == 7);
    int64_t n = -1;
    expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
    assert_int_equal(n, 0);
    knng_destroy(h);
  }
  /* Dimensions differ in a row that was not looked at when the file was opened. */
  FILE* f = fopen("bad.fvecs", "r+b");
  assert_non_null(f);
  const int32_t other = 29;
  assert_int_equal(fseek(f, 77 * 124, SEEK_SET), 0);
  assert_int_equal(fwrite(&other, sizeof other, 1, f), 1);
  fclose(f);
  knng* h = HANDLE(NULL, "threads", "3");
  set_bytes(h, "max_host_bytes", bytes_of(&rows));
  EXPECT_ERROR(knng_add_file(h, "bad.fvecs", NULL, &reported), KNNG_ERR_FORMAT, "bad.fvecs", "row 77", "29", "30");
  knng_destroy(h);
  rows_free(&rows);
  /* What a metric refuses is found by the device, and worded from the file. */
  test_rows positive = rows_positive(KNNG_F32, 400, 301, 509);
  ((float*)positive.data)[333 * 301 + 44] = -2;
  write_rows("negative.fbin", &positive);
  question q = question_of(&positive, &metric_cases[0], 3);
  for (int m = 0; m < METRIC_CASES; ++m)
    if (strcmp(metric_cases[m].metric, "hellinger") == 0) q.metric = metric_cases[m];
  h = staying(&q, "negative.fbin", "cuda:0");
  if (!fake_devices) set_bytes(h, "max_host_bytes", 0);
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_DATA, "row 333", "column 44", "-2");
  knng_destroy(h);
  rows_free(&positive);
}

/* Many equal rows, all equal rows: the distinct ones are read from the file. */
static void equal_rows(void** state) {
  (void)state;
  for (int all = 0; all < 2; ++all) {
    test_rows few = rows_normal(KNNG_F32, all ? 1 : 40, 301, 510);
    double* x = malloc(sizeof(double) * 400 * 301);
    assert_non_null(x);
    uint64_t seed = 511;
    for (int i = 0; i < 400; ++i) {
      const int64_t from = i % 3 || all ? (int64_t)(random_bits(&seed) % (uint64_t)few.n) : -1;
      for (int t = 0; t < 301; ++t) x[i * 301 + t] = from >= 0 ? few.x[from * 301 + t] : roughly_normal(&seed);
    }
    test_rows rows = rows_from(KNNG_F32, 400, 301, x);
    free(x);
    write_rows("equal.npy", &rows);
    question q = question_of(&rows, &metric_cases[1], 5);
    knng_error failure;
    knng_graph *expected = answer_of_cpu(&q, &failure), *g = NULL;
    assert_true(stat_of(expected, "duplicates") >= 50);
    for (const char* const* set = device_sets(); *set; ++set) {
      knng* h = staying(&q, "equal.npy", *set);
      set_bytes(h, "max_host_bytes", 0);
      expect_ok(knng_build(h, 5, NULL, &g, NULL), *set);
      expect_as_from_memory(expected, g, *set);
      assert_true(stat_of(g, "pairs") < 400.0 * 399 / 2); /* of the distinct ones alone */
      knng_graph_destroy(g);
      knng_destroy(h);
    }
    knng_graph_destroy(expected);
    rows_free(&rows);
    rows_free(&few);
  }
}

static void touch(const char* path) {
  const struct timespec times[2] = {{1, 0}, {1, 0}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void append_byte(const char* path) {
  FILE* f = fopen(path, "ab");
  assert_non_null(f);
  fputc(0, f);
  fclose(f);
}

static void shorten(const char* path) { assert_int_equal(truncate(path, 5000), 0); }

/* One value of the last row, by a write whose time is put back, and through a mapping, which moves no time. */
static void write_and_date_back(const char* path) {
  struct stat before;
  assert_int_equal(stat(path, &before), 0);
  const int fd = open(path, O_WRONLY);
  assert_true(fd >= 0);
  assert_int_equal(pwrite(fd, "\x3e", 1, before.st_size - 1), 1);
  close(fd);
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void write_through_a_mapping(const char* path) {
  struct stat before;
  assert_int_equal(stat(path, &before), 0);
  const int fd = open(path, O_RDWR);
  assert_true(fd >= 0);
  const size_t size = (size_t)before.st_size;
  char* const bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  assert_true(bytes != MAP_FAILED);
  bytes[size - 1] = 0x3e;
  munmap(bytes, size);
  close(fd);
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0); /* some file systems do move it */
}

/* Changed since it was added: neither builds nor queries nor reads take it. */
static void a_file_that_changed_before(void** state) {
  (void)state;
  static void (*const changes[])(const char*) = {touch, append_byte, shorten, write_and_date_back,
                                                 write_through_a_mapping};
  test_rows rows = rows_normal(KNNG_F32, 200, 301, 512);
  ((float*)rows.data)[200 * 301 - 1] = 0.8125f; /* its last byte is not the one that is written */
  question q = question_of(&rows, &metric_cases[1], 4);
  for (size_t c = 0; c < sizeof changes / sizeof *changes; ++c) {
    write_rows("changing.fbin", &rows);
    knng* h = staying(&q, "changing.fbin", "cuda:0");
    if (!fake_devices) set_bytes(h, "max_host_bytes", 0);
    knng_graph *before = built(h, 4), *g = NULL;
    changes[c]("changing.fbin");
    int64_t wrong = 0;
    float back[301];
    knng_matrix m = knng_packed(KNNG_F32, 1, 301, back), few = knng_packed(KNNG_F32, 1, 301, rows.data);
    EXPECT_ERROR(knng_build(h, 4, NULL, &g, &reported), KNNG_ERR_IO, "changing.fbin", "changed");
    assert_null(g);
    EXPECT_ERROR(knng_query(h, &few, NULL, 0, 4, NULL, &g, &reported), KNNG_ERR_IO, "changing.fbin", "changed");
    assert_null(g);
    EXPECT_ERROR(knng_read(h, 199, &m, &reported), KNNG_ERR_IO, "changing.fbin", "changed");
    set_bytes(h, "max_host_bytes", 0);
    EXPECT_ERROR(knng_check(h, before, 0, NULL, &wrong, &reported), KNNG_ERR_IO, "changing.fbin", "changed");
    expect_ok(knng_set(h, "device", "cpu", NULL), "cpu");
    EXPECT_ERROR(knng_build(h, 4, NULL, &g, &reported), KNNG_ERR_IO, "changing.fbin", "changed");
    knng_graph_destroy(before);
    knng_destroy(h);
  }
  /* A name that goes, or becomes another file's, does not matter. */
  write_rows("changing.fbin", &rows);
  knng* h = staying(&q, "changing.fbin", "cuda:0");
  if (!fake_devices) set_bytes(h, "max_host_bytes", 0);
  knng_graph* before = built(h, 4);
  unlink("changing.fbin");
  write_rows("changing.fbin", &(test_rows){.n = 1, .d = 1, .dtype = KNNG_F32, .data = rows.data});
  knng_graph* after = built(h, 4);
  expect_as_from_memory(before, after, "an old name");
  knng_graph_destroy(before);
  knng_graph_destroy(after);
  knng_destroy(h);
  rows_free(&rows);
}

typedef struct meddler {
  const char *stage, *path; /* stage: how its name begins */
  void (*change)(const char* path);
  int seen;
} meddler;

static int32_t meddle(void* user, const char* stage, double done, double total) {
  meddler* m = user;
  (void)total;
  if (!m->seen && done > 0 && strncmp(stage, m->stage, strlen(m->stage)) == 0) {
    m->seen = 1;
    m->change(m->path);
  }
  return 0;
}

/* Changed while a build is at work: no graph, whether rows are still to come or all are there. */
static void a_file_that_changes_meanwhile(void** state) {
  (void)state;
  if (!fake_devices) skip(); /* others are too fast to be met at work */
  static void (*const changes[])(const char*) = {touch, append_byte, shorten};
  static const char* const stages[] = {"distances", "keys"}; /* the second only of points in blocks */
  test_rows rows = rows_normal(KNNG_F32, 900, 301, 515);
  question q = question_of(&rows, &metric_cases[1], 5);
  devices_behave("0:slow;1:slow;2:slow;3:slow");
  int seen = 0;
  for (int blocks = 0; blocks < 2; ++blocks)
    for (size_t c = 0; c < 3; ++c)
      for (size_t s = 0; s < 2; ++s) {
        write_rows("meddled.fbin", &rows);
        knng* h = staying(&q, "meddled.fbin", c == 1 ? "cuda:0,1" : "cuda:0");
        set_bytes(h, "max_host_bytes", 0);
        expect_ok(knng_set(h, "tile_rows", "128", NULL), "tile_rows");
        if (blocks) give_least_memory(h, 0, 5, 0);
        meddler m = {stages[s], "meddled.fbin", changes[c], 0};
        const knng_control control = {sizeof(knng_control), 1, meddle, NULL, &m, NULL, 0};
        knng_graph* g = NULL;
        const knng_status status = knng_build(h, 5, &control, &g, NULL);
        assert_int_equal(fake_count("sessions", 0), 0);
        if (m.seen) EXPECT_ERROR(status, KNNG_ERR_IO, "meddled.fbin", "changed");
        if (m.seen) assert_null(g);
        seen += m.seen;
        knng_graph_destroy(g);
        knng_destroy(h);
      }
  assert_int_equal(seen, 9);
  rows_free(&rows);
}

static int32_t stop_at(void* user, const char* stage, double done, double total) {
  (void)stage, (void)done, (void)total;
  return --*(int*)user == 0;
}

static void stopped_while_it_is_read(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 20000, 100, 513);
  write_rows("stopped.fbin", &rows);
  knng* h = HANDLE(NULL, "threads", "2");
  set_bytes(h, "max_host_bytes", bytes_of(&rows));
  int calls = 1;
  const knng_control control = {sizeof(knng_control), 1, stop_at, NULL, &calls, NULL, 0};
  EXPECT_ERROR(knng_add_file(h, "stopped.fbin", &control, &reported), KNNG_ERR_CANCELLED, "stopped");
  int64_t n = -1;
  expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(n, 0);
  expect_ok(knng_add_file(h, "stopped.fbin", NULL, NULL), "not stopped");
  expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
  assert_int_equal(n, 20000);
  knng_destroy(h);
  rows_free(&rows);
}

/* A child reads the same open file; destroying its handle leaves the parent's. */
static void after_a_fork(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 301, 514);
  write_rows("forked.fbin", &rows);
  question q = question_of(&rows, &metric_cases[1], 4);
  knng_error failure;
  knng_graph* expected = answer_of_cpu(&q, &failure);
  knng* h = staying(&q, "forked.fbin", "cpu");
  set_bytes(h, "max_host_bytes", 0);
  const pid_t child = forked();
  if (child == 0) {
    knng_graph* g = NULL;
    int64_t wrong = 0;
    int failed = knng_build(h, 4, NULL, &g, NULL) != KNNG_OK;
    failed = failed || knng_check(h, expected, 0, NULL, &wrong, NULL) != KNNG_OK || wrong != -1;
    failed = failed || knng_check(h, g, 0, NULL, &wrong, NULL) != KNNG_OK || wrong != -1;
    knng_graph_destroy(g);
    knng_destroy(h);
    _exit(failed);
  }
  expect_child_ok(child);
  knng_graph* g = built(h, 4);
  expect_as_from_memory(expected, g, "the parent");
  knng_graph_destroy(g);
  knng_graph_destroy(expected);
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  const int unready = devices_start();
  if (unready) return unready;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(every_format_within_less_than_its_size),
      DEVICE_TEST(memory_is_really_less),
      DEVICE_TEST(files_and_memory_together),
      DEVICE_TEST(the_cpu_copies_them),
      DEVICE_TEST(some_files_cannot_stay),
      DEVICE_TEST(what_is_wrong_in_a_file_is_named),
      DEVICE_TEST(equal_rows),
      DEVICE_TEST(a_file_that_changed_before),
      DEVICE_TEST(a_file_that_changes_meanwhile),
      DEVICE_TEST(stopped_while_it_is_read),
      DEVICE_TEST(after_a_fork),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
