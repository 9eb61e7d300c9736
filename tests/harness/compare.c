#include "harness/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"

const metric_case metric_cases[METRIC_CASES] = {
    {"sqeuclidean", "2", 1}, {"euclidean", "2", 1},    {"cosine", "2", 1},        {"correlation", "2", 1},
    {"spearman", "2", 1},    {"hellinger", "2", 1},    {"inner_product", "2", 1}, {"manhattan", "2", 0},
    {"chebyshev", "2", 0},   {"minkowski", "1", 0},    {"minkowski", "2", 0},     {"minkowski", "1.7", 0},
    {"canberra", "2", 0},    {"braycurtis", "2", 0},   {"jensenshannon", "2", 0}, {"minkowski", "3", 0},
    {"minkowski", "0.5", 0}, {"minkowski", "12.25", 0}};

int metric_count(void) { return small_run() ? METRIC_CASES - 3 : METRIC_CASES; }

oracle_task task_of(const metric_case* m) {
  const oracle_task task = {m->metric, strtod(m->p, NULL), 0, 0};
  return task;
}

int metric_takes(const metric_case* m, const test_rows* rows) {
  if (strcmp(m->metric, "hellinger") == 0) return !rows_have_negative(rows);
  if (strcmp(m->metric, "jensenshannon") == 0) return !rows_have_negative(rows) && !rows_have_zero_row(rows);
  return 1;
}

int has_similarity(const metric_case* m) {
  static const char* const names[] = {"cosine", "correlation", "spearman", "inner_product"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(m->metric, names[i]) == 0) return 1;
  return 0;
}

knng_error reported = {sizeof(knng_error), KNNG_OK, -1, -1, -1, -1, "", "", ""};

void expect_ok(knng_status status, const char* what) {
  if (status != KNNG_OK) fail_msg("%s: status %d: %s", what, (int)status, knng_last_error());
}

/* Whether the text has the word, and a number behind it. */
static int counts(const char* text, const char* word) {
  const size_t size = strlen(word);
  for (const char* at = text; (at = strstr(at, word)) != NULL; at += size)
    if ((at == text || !isalpha((unsigned char)at[-1])) && isdigit((unsigned char)at[size])) return 1;
  return 0;
}

void expect_error(knng_status status, knng_status code, const char* const* words) {
  if (status != code) fail_msg("status %d instead of %d; last message: %s", (int)status, (int)code, knng_last_error());
  const char* message = knng_last_error();
  static knng_error looked_at;
  if (reported.code != KNNG_OK && memcmp(&reported, &looked_at, sizeof reported) != 0) { /* the call has filled it in */
    looked_at = reported;
    if (reported.code != code) fail_msg("the error has code %d instead of %d", (int)reported.code, (int)code);
    if (strcmp(reported.message, message) != 0) fail_msg("two messages: '%s', '%s'", reported.message, message);
    if (strncmp(message, reported.reason, strlen(reported.reason)) != 0)
      fail_msg("the message '%s' does not begin with the reason '%s'", message, reported.reason);
    if (reported.row < 0 && strcmp(message, reported.reason) != 0)
      fail_msg("'%s' tells more than '%s', and there is no row", message, reported.reason);
    if (counts(reported.reason, "row ") || counts(reported.reason, "column "))
      fail_msg("the reason '%s' tells a position", reported.reason); /* languages that count from 1 show it */
  }
  if (strchr(message, '\n')) fail_msg("more than one line: '%s'", message);
  for (; *words; ++words)
    if (!strstr(message, *words)) fail_msg("the message '%s' does not say '%s'", message, *words);
}

knng_matrix matrix_of(const test_rows* rows) { return knng_packed(rows->dtype, rows->n, rows->d, rows->data); }

knng* handle_with(const test_rows* rows, const char* const* settings) {
  knng* h = NULL;
  expect_ok(knng_create(&h, 0, 0, NULL), "knng_create");
  for (; settings[0]; settings += 2) expect_ok(knng_set(h, settings[0], settings[1], NULL), settings[0]);
  if (rows) {
    const knng_matrix m = matrix_of(rows);
    expect_ok(knng_add(h, &m, NULL, NULL), "knng_add");
  }
  return h;
}

void set_metric(knng* h, const metric_case* m) {
  expect_ok(knng_set(h, "metric", m->metric, NULL), m->metric);
  expect_ok(knng_set(h, "p", strcmp(m->metric, "minkowski") == 0 ? m->p : "auto", NULL), m->p);
}

void set_bytes(knng* h, const char* key, int64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)bytes);
  expect_ok(knng_set(h, key, text, NULL), key);
}

knng_graph* built(const knng* h, int64_t k) {
  knng_graph* g = NULL;
  expect_ok(knng_build(h, k, NULL, &g, NULL), "knng_build");
  assert_non_null(g);
  return g;
}

/* The value of the view's type that the fp64 value rounds to, and whether the bits agree. */
static int same_bits(const knng_matrix* values, int64_t index, double expected) {
  if (values->dtype == KNNG_F32) {
    const float rounded = (float)expected;
    return memcmp((const float*)values->data + index, &rounded, sizeof rounded) == 0;
  }
  return memcmp((const double*)values->data + index, &expected, sizeof expected) == 0;
}

static void view(const knng_graph* g, knng_matrix* ids, knng_matrix* values) {
  *ids = knng_packed(KNNG_I64, 0, 0, NULL);
  *values = *ids;
  expect_ok(knng_graph_view(g, ids, values, NULL), "knng_graph_view");
  assert_int_equal(ids->dtype, KNNG_I64);
  assert_true(values->dtype == KNNG_F32 || values->dtype == KNNG_F64);
  assert_int_equal(values->rows, ids->rows);
  assert_int_equal(values->cols, ids->cols);
}

void expect_graph(const knng_graph* g, const oracle_graph* expected, const char* label) {
  knng_matrix ids, values;
  view(g, &ids, &values);
  if (ids.rows != expected->rows || ids.cols != expected->width)
    fail_msg("%s: the graph is %lld x %lld instead of %lld x %lld", label, (long long)ids.rows, (long long)ids.cols,
             (long long)expected->rows, (long long)expected->width);
  for (int64_t e = 0; e < expected->rows * expected->width; ++e) {
    const int64_t given = ((const int64_t*)ids.data)[e];
    const double value = decode(values.dtype, values.data, e);
    if (given != expected->ids[e] || !same_bits(&values, e, expected->values[e]))
      fail_msg("%s: row %lld column %lld is id %lld value %.17g (%a), the oracle has id %lld value %.17g (%a)", label,
               (long long)(e / expected->width), (long long)(e % expected->width), (long long)given, value, value,
               (long long)expected->ids[e], expected->values[e], expected->values[e]);
  }
  unsigned char* ties = malloc((size_t)expected->rows);
  assert_non_null(ties);
  knng_matrix out = knng_packed(KNNG_U8, expected->rows, 1, ties);
  expect_ok(knng_graph_rows(g, "ties", &out, NULL), "knng_graph_rows ties");
  for (int64_t i = 0; i < expected->rows; ++i)
    if (ties[i] != expected->ties[i])
      fail_msg("%s: row %lld has ties %d, the oracle %d", label, (long long)i, ties[i], expected->ties[i]);
  free(ties);
}

void expect_same_graph(const knng_graph* a, const knng_graph* b, const char* label) {
  knng_matrix ids_a, values_a, ids_b, values_b;
  view(a, &ids_a, &values_a);
  view(b, &ids_b, &values_b);
  if (ids_a.rows != ids_b.rows || ids_a.cols != ids_b.cols || values_a.dtype != values_b.dtype)
    fail_msg("%s: shapes or value types differ", label);
  const size_t entries = (size_t)(ids_a.rows * ids_a.cols);
  if (memcmp(ids_a.data, ids_b.data, entries * sizeof(int64_t)) != 0) fail_msg("%s: ids differ", label);
  if (memcmp(values_a.data, values_b.data, entries * (size_t)dtype_size(values_a.dtype)) != 0)
    fail_msg("%s: values differ", label);
}

double stat_of(const knng_graph* g, const char* name) {
  double value = NAN;
  expect_ok(knng_graph_stat(g, name, &value, NULL), name);
  return value;
}

/* What is not known is NaN. */
static int same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

void expect_comes_back(const knng_graph* g, const char* label) {
  static const char* const names[] = {"back.knng", "back.npz"};
  for (int n = 0; n < 2; ++n) {
    knng_graph* back = NULL;
    expect_ok(knng_graph_save(g, names[n], NULL, NULL, NULL), label);
    expect_ok(knng_graph_load(&back, names[n], NULL, NULL), label);
    expect_same_graph(g, back, label);
    const char* stat = NULL;
    for (int32_t i = 0; knng_stat_name(i, &stat, NULL, NULL) == KNNG_OK; ++i)
      if (!same_number(stat_of(g, stat), stat_of(back, stat))) fail_msg("%s: %s differs in %s", label, stat, names[n]);
    knng_graph_destroy(back);
  }
}

const char* const* words_of(const char* setting, word_list* list) {
  knng_option o;
  memset(&o, 0, sizeof o);
  o.struct_size = sizeof o;
  int32_t i = 0;
  do expect_ok(knng_option_get(i++, &o, NULL), setting);
  while (strcmp(o.name, setting) != 0);
  assert_true(snprintf(list->text, sizeof list->text, "%s", o.range) < (int)sizeof list->text);
  int count = 0;
  for (char* word = strtok(list->text, ", "); word; word = strtok(NULL, ", ")) {
    assert_true(count < MOST_WORDS);
    list->words[count++] = word;
  }
  assert_true(count > 1);
  list->words[count] = NULL;
  return list->words;
}

static int has_filter(const metric_case* m) {
  return m->product || (strcmp(m->metric, "minkowski") == 0 && strcmp(m->p, "2") == 0);
}

const engine_case* engines_for(const metric_case* m) {
  static const engine_case all[] = {{"fused", "auto"},       {"direct", "auto"}, {"tiled", "insertion"},
                                    {"tiled", "batch_sort"}, {"tiled", "quick"}, {NULL, NULL}};
  return has_filter(m) ? all : all + 1;
}

void set_engine(knng* h, const engine_case* e) {
  expect_ok(knng_set(h, "engine", e->engine, NULL), e->engine);
  expect_ok(knng_set(h, "selector", e->selector, NULL), e->selector);
}

const char* fastest_engine(const metric_case* m) { return has_filter(m) ? "fused" : "auto"; }

static void check_one(const knng* h, int64_t k, const oracle_graph* expected, const char* label) {
  knng_graph* g = NULL;
  const knng_status status = knng_build(h, k, NULL, &g, NULL);
  if (!expected) {
    if (status != KNNG_ERR_DATA) fail_msg("%s: status %d instead of KNNG_ERR_DATA", label, (int)status);
    assert_null(g);
    return;
  }
  expect_ok(status, label);
  expect_graph(g, expected, label);
  knng_graph_destroy(g);
}

void check_build(const test_rows* rows, const metric_case* m, int64_t k, const oracle_graph* expected,
                 const engine_case* engines, const char* const* threads, const tile_size* tiles, int tile_count,
                 int shift) {
  static int turn; /* in a small run every engine meets one number of threads and one tile, others every time */
  knng* h = HANDLE(rows, "device", "cpu");
  set_metric(h, m);
  int thread_count = 0;
  while (threads[thread_count]) ++thread_count;
  const int ways = shift == ALL_TILES ? thread_count * tile_count : thread_count;
  for (const engine_case* e = engines ? engines : engines_for(m); e->engine; ++e)
    for (int w = 0; w < thread_count; ++w)
      for (int t = 0; t < tile_count; ++t) {
        if (shift != ALL_TILES && (w + shift) % tile_count != t) continue;
        if (!tried(turn++, ways)) continue;
        char label[200];
        snprintf(label, sizeof label, "%s p=%s %s %lld x %lld k=%lld engine=%s selector=%s threads=%s tile=%s x %s",
                 m->metric, m->p, dtype_label(rows->dtype), (long long)rows->n, (long long)rows->d, (long long)k,
                 e->engine, e->selector, threads[w], tiles[t].rows, tiles[t].cols);
        set_engine(h, e);
        expect_ok(knng_set(h, "threads", threads[w], NULL), "threads");
        expect_ok(knng_set(h, "tile_rows", tiles[t].rows, NULL), "tile_rows");
        expect_ok(knng_set(h, "tile_cols", tiles[t].cols, NULL), "tile_cols");
        check_one(h, k, expected, label);
      }
  knng_destroy(h);
}

knng_status no_cuda_memory(void) {
  knng_device d;
  d.struct_size = sizeof d;
  for (int32_t i = 1; knng_device_get(i, &d, NULL) == KNNG_OK; ++i)
    if (d.usable) return KNNG_ERR_ARGUMENT;
  return KNNG_ERR_UNSUPPORTED;
}

void expect_same_files(const char* a, const char* b) {
  FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
  assert_true(fa && fb);
  for (int byte = 0; byte != EOF;) {
    byte = fgetc(fa);
    assert_int_equal(byte, fgetc(fb));
  }
  fclose(fa);
  fclose(fb);
}
