/* Settings by introspection: every one round-trips, none takes nonsense, and the locale has no say. */
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/decimal_comma.h"

static int option_at(int32_t i, knng_option* o) {
  memset(o, 0, sizeof *o);
  o->struct_size = sizeof *o;
  return knng_option_get(i, o, &reported);
}

static void expect_setting(const knng* h, const char* key, const char* value) {
  char buf[64] = "";
  expect_ok(knng_get(h, key, buf, sizeof buf, NULL, NULL), key);
  if (strcmp(buf, value) != 0) fail_msg("%s is '%s' instead of '%s'", key, buf, value);
}

static void the_table_is_complete(void** state) {
  (void)state;
  static const char* const names[] = {
      "metric",    "p",          "selector",   "engine",  "device",         "precision",        "self",
      "value",     "value_type", "graph",      "threads", "max_host_bytes", "max_device_bytes", "tile_rows",
      "tile_cols", "check_rows", "file_points"};
  const int count = (int)(sizeof names / sizeof *names);
  knng_option o;
  for (int i = 0; i < count; ++i) {
    expect_ok(option_at(i, &o), names[i]);
    assert_string_equal(o.name, names[i]);
    assert_true(strlen(o.doc) > 10 && strlen(o.range) > 0 && o.fallback);
    assert_true(o.type == 0 || o.type == KNNG_I64 || o.type == KNNG_F64);
  }
  assert_int_equal(option_at(count, &o), KNNG_ERR_RANGE);
  const knng_error e = reported;
  assert_int_equal(e.limit, count - 1);
  assert_int_equal(option_at(-1, &o), KNNG_ERR_RANGE);
  assert_int_equal(knng_option_get(0, NULL, NULL), KNNG_ERR_ARGUMENT);
}

static void defaults_are_what_the_table_says(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, NULL);
  knng_option o;
  for (int i = 0; option_at(i, &o) == KNNG_OK; ++i) {
    expect_setting(h, o.name, o.fallback);
    expect_ok(knng_set(h, o.name, o.fallback, NULL), o.name);
    expect_setting(h, o.name, o.fallback);
  }
  expect_setting(h, "metric", "euclidean");
  knng_destroy(h);
}

/* Words of a range are separated by ", ". "cuda:N,M,..." stands for numbers and is tested apart. */
static void every_word_round_trips(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, NULL);
  knng_option o;
  int words = 0;
  for (int i = 0; option_at(i, &o) == KNNG_OK; ++i) {
    if (o.type != 0) continue;
    char range[400];
    assert_true(strlen(o.range) < sizeof range);
    strcpy(range, o.range);
    for (char* word = range; word;) {
      char* end = strstr(word, ", ");
      if (end) *end = 0;
      if (!strchr(word, 'N')) {
        expect_ok(knng_set(h, o.name, word, NULL), word);
        expect_setting(h, o.name, word);
        ++words;
      }
      word = end ? end + 2 : NULL;
    }
    const char* const first = strtok(range, ",");
    char spoiled[100];
    snprintf(spoiled, sizeof spoiled, "%s ", first);
    char before[64];
    expect_ok(knng_get(h, o.name, before, sizeof before, NULL, NULL), o.name);
    EXPECT_ERROR(knng_set(h, o.name, spoiled, &reported), KNNG_ERR_OPTION, o.name, first);
    EXPECT_ERROR(knng_set(h, o.name, "", &reported), KNNG_ERR_OPTION, o.name, first);
    EXPECT_ERROR(knng_set(h, o.name, "none_of_these", &reported), KNNG_ERR_OPTION, o.name, "none_of_these", first);
    expect_setting(h, o.name, before);
  }
  assert_true(words >= 13 + 4 + 4 + 3 + 2 + 2 + 2 + 3);
  expect_ok(knng_set(h, "device", "cuda:0,2", NULL), "cuda:0,2");
  expect_setting(h, "device", "cuda:0,2");
  static const char* const wrong[] = {"cuda:", "cuda:,", "cuda:0,", "cuda:0,0", "cuda:-1", "cuda:x", "gpu"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    EXPECT_ERROR(knng_set(h, "device", wrong[i], &reported), KNNG_ERR_OPTION, "device", wrong[i]);
  knng_destroy(h);
}

static void numbers_have_limits(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, NULL);
  static const char* const good[][3] = {
      {"threads", "4", "4"},
      {"threads", "4096", "4096"},
      {"tile_rows", "1048576", "1048576"},
      {"tile_cols", "1", "1"},
      {"p", "0.5", "0.5"},
      {"p", "1e2", "100"},
      {"p", "3.0", "3"},
      {"max_host_bytes", "4GiB", "4294967296"},
      {"max_host_bytes", "1.5 KiB", "1536"},
      {"max_host_bytes", "2MB", "2000000"},
      {"max_host_bytes", "12345", "12345"},
      {"max_device_bytes", "1T", "1099511627776"},
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    expect_ok(knng_set(h, good[i][0], good[i][1], NULL), good[i][1]);
    expect_setting(h, good[i][0], good[i][2]);
    expect_ok(knng_set(h, good[i][0], good[i][2], NULL), good[i][2]);
    expect_setting(h, good[i][0], good[i][2]);
  }
  static const char* const bad[][2] = {
      {"threads", "-1"},
      {"threads", "4097"},
      {"threads", "4x"},
      {"threads", " 4"},
      {"threads", "4.5"},
      {"threads", ""},
      {"threads", "99999999999999999999"},
      {"p", "0"},
      {"p", "-2"},
      {"p", "nan"},
      {"p", "inf"},
      {"p", "2,5"},
      {"p", "1e9"},
      {"p", "0x10"},
      {"p", "two"},
      {"max_host_bytes", "-1"},
      {"max_host_bytes", "0.5"},
      {"max_host_bytes", "4 gigs"},
      {"max_host_bytes", "1e300"},
      {"max_host_bytes", "nan"},
      {"tile_rows", "1048577"},
  };
  expect_ok(knng_set(h, "threads", "2", NULL), "threads");
  expect_ok(knng_set(h, "p", "3", NULL), "p");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    EXPECT_ERROR(knng_set(h, bad[i][0], bad[i][1], &reported), KNNG_ERR_OPTION, bad[i][0], bad[i][1], "to");
  expect_setting(h, "threads", "2");
  expect_setting(h, "p", "3");
  knng_destroy(h);
}

static void text_comes_whole_or_not_at_all(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, "metric", "cosine");
  char buf[16];
  int64_t needed = -1;
  expect_ok(knng_get(h, "metric", buf, 7, &needed, NULL), "exact fit");
  assert_string_equal(buf, "cosine");
  assert_int_equal(needed, 7);
  memset(buf, 'z', sizeof buf);
  needed = -1;
  EXPECT_ERROR(knng_get(h, "metric", buf, 6, &needed, &reported), KNNG_ERR_RANGE, "7", "6");
  assert_int_equal(needed, 7);
  for (size_t i = 0; i < sizeof buf; ++i) assert_int_equal(buf[i], 'z');
  needed = -1;
  EXPECT_ERROR(knng_get(h, "metric", NULL, 0, &needed, &reported), KNNG_ERR_RANGE, "7");
  assert_int_equal(needed, 7);
  EXPECT_ERROR(knng_get(h, "metric", NULL, 10, &needed, &reported), KNNG_ERR_ARGUMENT, "buf");
  EXPECT_ERROR(knng_get(h, "metrics", buf, sizeof buf, NULL, &reported), KNNG_ERR_OPTION, "metrics", "max_host_bytes",
               "tile_cols");
  EXPECT_ERROR(knng_get(h, NULL, buf, sizeof buf, NULL, &reported), KNNG_ERR_ARGUMENT, "key");
  EXPECT_ERROR(knng_set(h, "metrics", "cosine", &reported), KNNG_ERR_OPTION, "metrics", "metric", "value_type");
  EXPECT_ERROR(knng_set(h, "metric", NULL, &reported), KNNG_ERR_ARGUMENT, "value");
  knng_destroy(h);
}

static void devices_are_described(void** state) {
  (void)state;
  knng_device d;
  memset(&d, 0, sizeof d);
  d.struct_size = sizeof d;
  expect_ok(knng_device_get(0, &d, NULL), "device 0");
  assert_int_equal(d.usable, 1);
  assert_string_equal(d.why_not, "");
  assert_memory_equal(d.name, "cpu", 3);
  assert_true(d.memory == -1 || d.memory > 0);
  int32_t i = 1;
  for (; i < 100; ++i) {
    const knng_status status = knng_device_get(i, &d, NULL);
    if (status == KNNG_ERR_RANGE) break;
    expect_ok(status, "knng_device_get");
    assert_true(strlen(d.name) > 0);
    assert_true(d.usable == 1 || strlen(d.why_not) > 0);
  }
  assert_true(i < 100);
  EXPECT_ERROR(knng_device_get(-1, &d, &reported), KNNG_ERR_RANGE, "-1");
  EXPECT_ERROR(knng_device_get(0, NULL, &reported), KNNG_ERR_ARGUMENT, "out");
}

static void statistics_are_named(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 30, 4, 1);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = built(h, 3);
  const char *name = NULL, *doc = NULL;
  int32_t count = 0;
  for (; knng_stat_name(count, &name, &doc, NULL) == KNNG_OK; ++count) {
    assert_true(strlen(name) > 0 && strlen(doc) > 10);
    expect_ok(knng_stat_name(count, &name, NULL, NULL), name);
    assert_true(stat_of(g, name) >= 0);
  }
  assert_true(count >= 21); /* the list may grow */
  char text[16];
  snprintf(text, sizeof text, "%d", count);
  EXPECT_ERROR(knng_stat_name(count, &name, &doc, &reported), KNNG_ERR_RANGE, text);
  EXPECT_ERROR(knng_stat_name(0, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "name");
  knng_graph_destroy(g);
  knng_destroy(h);
  rows_free(&rows);
}

static void locales_have_no_say(void** state) {
  (void)state;
  need_decimal_comma();
  char text[16];
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5");
  knng* h = HANDLE(NULL, "p", "1.7");
  expect_setting(h, "p", "1.7");
  EXPECT_ERROR(knng_set(h, "p", "1,7", &reported), KNNG_ERR_OPTION, "p=1,7", "0.01");
  expect_ok(knng_set(h, "max_host_bytes", "1.5KiB", NULL), "1.5KiB");
  expect_setting(h, "max_host_bytes", "1536");
  knng_destroy(h);
  setlocale(LC_ALL, "C");
}

/* p is minkowski's: the library refuses it, whichever it is, where it would have no effect. */
static void an_exponent_goes_with_minkowski(void** state) {
  (void)state;
  test_rows rows = rows_positive(KNNG_F32, 30, 4, 2);
  const char* name = NULL;
  for (int32_t i = 0; knng_metric_name(i, &name, NULL, NULL) == KNNG_OK; ++i)
    for (int two = 0; two < 2; ++two) {
      knng* h = HANDLE(&rows, "device", "cpu", "metric", name, "p", two ? "2" : "3");
      knng_graph* g = NULL;
      knng_plan plan = {.struct_size = sizeof plan};
      if (strcmp(name, "minkowski") == 0) {
        expect_ok(knng_build(h, 3, NULL, &g, NULL), name);
      } else {
        EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_OPTION, two ? "p=2" : "p=3", "minkowski", name);
        EXPECT_ERROR(knng_estimate(h, 0, 3, &plan, &reported), KNNG_ERR_OPTION, "minkowski", name);
        assert_null(g);
        expect_ok(knng_set(h, "p", "auto", NULL), "auto");
        expect_ok(knng_build(h, 3, NULL, &g, NULL), name);
      }
      knng_graph_destroy(g);
      knng_destroy(h);
    }
  rows_free(&rows);
}

/* Each name that knng_metric_name() lists, in capitals too, is one metric's, and no other's. */
static void aliases_are_taken(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, NULL);
  static char seen[100][40];
  int count = 0;
  const char *name = NULL, *aliases = NULL;
  for (int32_t i = 0; knng_metric_name(i, &name, &aliases, NULL) == KNNG_OK; ++i) {
    char words[200];
    assert_true(snprintf(words, sizeof words, "%s%s%s", name, *aliases ? ", " : "", aliases) < (int)sizeof words);
    for (char* word = strtok(words, ", "); word; word = strtok(NULL, ", ")) {
      for (int s = 0; s < count; ++s) assert_string_not_equal(seen[s], word);
      assert_true(count < 100 && snprintf(seen[count++], sizeof seen[0], "%s", word) < (int)sizeof seen[0]);
      for (int capitals = 0; capitals < 2; ++capitals) {
        if (capitals)
          for (char* c = word; *c; ++c) *c = (char)toupper((unsigned char)*c);
        expect_ok(knng_set(h, "metric", strcmp(name, "cosine") == 0 ? "canberra" : "cosine", NULL), "another");
        expect_ok(knng_set(h, "metric", word, NULL), word);
        expect_setting(h, "metric", name);
      }
    }
  }
  assert_true(count > 20);
  knng_destroy(h);
}

/* The processor's flags, as the system tells them; -1: it does not. */
static int has_tiles(void) {
  FILE* info = fopen("/proc/cpuinfo", "r");
  if (!info) return -1;
  static char line[1 << 16];
  int found = -1;
  while (found < 0 && fgets(line, sizeof line, info))
    if (strncmp(line, "flags", 5) == 0) found = strstr(line, " amx_bf16") && strstr(line, " amx_tile");
  fclose(info);
  return found;
}

/* They are there where the system says so, and change no bit. */
static void matrix_tiles_are_asked_for(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 500, 48, 3);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* before = built(h, 7);
  const int there = has_tiles();
  for (int times = 0; times < 2; ++times) {
    const knng_status status = knng_use_matrix_tiles(&reported);
    if (there >= 0) assert_int_equal(status, there ? KNNG_OK : KNNG_ERR_UNSUPPORTED);
    if (status != KNNG_OK) EXPECT_ERROR(knng_use_matrix_tiles(&reported), KNNG_ERR_UNSUPPORTED, "tiles");
    knng_graph* after = built(h, 7);
    expect_same_graph(before, after, "matrix tiles");
    knng_graph_destroy(after);
  }
  print_message("matrix tiles: %s\n", there > 0 ? "there" : there == 0 ? "not there" : "unknown");
  knng_graph_destroy(before);
  knng_destroy(h);
  rows_free(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_exponent_goes_with_minkowski),
      cmocka_unit_test(aliases_are_taken),
      cmocka_unit_test(matrix_tiles_are_asked_for),
      cmocka_unit_test(the_table_is_complete),
      cmocka_unit_test(defaults_are_what_the_table_says),
      cmocka_unit_test(every_word_round_trips),
      cmocka_unit_test(numbers_have_limits),
      cmocka_unit_test(text_comes_whole_or_not_at_all),
      cmocka_unit_test(devices_are_described),
      cmocka_unit_test(statistics_are_named),
      cmocka_unit_test(locales_have_no_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
