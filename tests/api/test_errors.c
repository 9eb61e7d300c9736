/* Version, codes and messages: what a caller learns from a failure, and that it is the thread's own. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static void version_is_the_headers(void** state) {
  (void)state;
  assert_int_equal(knng_version(), KNNG_HEADER_VERSION);
}

/* Runs first: nothing has failed yet on this thread. */
static void nothing_failed_yet(void** state) {
  (void)state;
  assert_string_equal(knng_last_error(), "");
  const knng_error e = knng_no_error();
  assert_int_equal(e.code, KNNG_OK);
  assert_int_equal(e.struct_size, sizeof e);
  assert_string_equal(e.message, "");
}

static void numbers_come_with_the_message(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 40, 3, 1);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 50, NULL, &g, &reported), KNNG_ERR_RANGE, "50", "51", "40");
  assert_null(g);
  knng_error e = reported;
  assert_string_equal(e.argument, "k");
  assert_int_equal(e.given, 50);
  assert_int_equal(e.row, -1);
  assert_int_equal(e.col, -1);

  ((float*)rows.data)[7 * 3 + 2] = INFINITY;
  const knng_matrix m = matrix_of(&rows);
  EXPECT_ERROR(knng_add(h, &m, NULL, &reported), KNNG_ERR_DATA, "7", "2");
  e = reported;
  assert_int_equal(e.row, 7);
  assert_int_equal(e.col, 2);
  assert_null(strstr(e.reason, "7")); /* a language that counts from 1 says "row 8" behind it */
  assert_null(strstr(e.reason, "row 7"));

  /* A success leaves the thread's message alone, and empties the caller's error. */
  int64_t n = 0;
  expect_ok(knng_shape(h, &n, NULL, NULL, &e), "knng_shape");
  assert_int_equal(n, 40);
  assert_non_null(strstr(knng_last_error(), "row 7"));
  assert_int_equal(e.code, KNNG_OK);
  assert_int_equal(e.row, -1);
  assert_string_equal(e.message, "");
  knng_destroy(h);
  rows_free(&rows);
}

static void* look_at_my_errors(void* result) {
  int* ok = result;
  *ok = strcmp(knng_last_error(), "") == 0 && knng_build(NULL, 1, NULL, NULL, NULL) == KNNG_ERR_ARGUMENT &&
        strcmp(knng_last_error(), "") != 0;
  return NULL;
}

static void messages_belong_to_their_thread(void** state) {
  (void)state;
  EXPECT_ERROR(knng_set(NULL, "metric", "cosine", &reported), KNNG_ERR_ARGUMENT, "");
  char mine[480];
  strncpy(mine, knng_last_error(), sizeof mine - 1);
  mine[sizeof mine - 1] = 0;
  int ok = 0;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, look_at_my_errors, &ok), 0);
  pthread_join(thread, NULL);
  assert_true(ok);
  assert_string_equal(knng_last_error(), mine);
}

static void expect_limit(knng_status status, const char* argument, int64_t given, int64_t limit) {
  assert_int_equal(status, KNNG_ERR_RANGE);
  assert_string_equal(reported.argument, argument);
  assert_int_equal(reported.given, given);
  assert_int_equal(reported.limit, limit);
}

/* The limit is the nearest number that would do, and the argument the parameter's name, also where a member is wrong.
 */
static void limits_are_the_nearest(void** state) {
  (void)state;
  knng* h = NULL;
  expect_limit(knng_create(&h, -5, 0, &reported), "dim", -5, 0);
  expect_limit(knng_create(&h, INT64_C(1) << 40, 0, &reported), "dim", INT64_C(1) << 40, INT32_MAX);
  float x[20] = {0}, to[8];
  const knng_matrix rows = knng_packed(KNNG_F32, 10, 2, x);
  knng_matrix dst = knng_packed(KNNG_F32, 4, 2, to), short_struct = rows;
  expect_ok(knng_create(&h, 0, 0, &reported), "create");
  expect_ok(knng_add(h, &rows, NULL, &reported), "add");
  expect_limit(knng_read(h, -1, &dst, &reported), "first", -1, 0);
  expect_limit(knng_read(h, 7, &dst, &reported), "first", 7, 6);
  short_struct.struct_size = 8;
  assert_int_equal(knng_add(h, &short_struct, NULL, &reported), KNNG_ERR_ARGUMENT);
  assert_string_equal(reported.argument, "rows");
  knng_destroy(h);
}

/* What is no knng_error is not written to, and nothing is done. */
static void an_error_without_its_size_is_refused(void** state) {
  (void)state;
  const uint32_t sizes[] = {0, 4, 7, 5000, 0x5a5a5a5a};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    knng_error e, before;
    memset(&e, 0x5a, sizeof e);
    e.struct_size = sizes[i];
    before = e;
    knng* h = (knng*)(uintptr_t)1; /* whatever a caller leaves there: NULL is what it finds after a failure */
    assert_int_equal(knng_create(&h, 0, 0, &e), KNNG_ERR_ARGUMENT);
    assert_null(h);
    assert_memory_equal(&e, &before, sizeof e);
    assert_non_null(strstr(knng_last_error(), "struct_size"));
  }
}

static void only_what_both_know_is_written(void** state) {
  (void)state;
  knng_graph* g = NULL;
  unsigned char memory[sizeof(knng_error) + 64];
  knng_error e;
  uint32_t size = 8; /* an old header: size and code only */
  memset(memory, 0x5a, sizeof memory);
  memcpy(memory, &size, sizeof size);
  assert_int_equal(knng_graph_load(&g, "/nonexistent/graph.knng", NULL, (knng_error*)(void*)memory), KNNG_ERR_IO);
  memcpy(&e, memory, sizeof e);
  assert_int_equal(e.code, KNNG_ERR_IO);
  for (size_t i = size; i < sizeof memory; ++i) assert_int_equal(memory[i], 0x5a);

  size = sizeof memory; /* a newer header, with members that this library does not know */
  memset(memory, 0x5a, sizeof memory);
  memcpy(memory, &size, sizeof size);
  assert_int_equal(knng_graph_load(&g, "/nonexistent/graph.knng", NULL, (knng_error*)(void*)memory), KNNG_ERR_IO);
  memcpy(&e, memory, sizeof e);
  assert_int_equal(e.code, KNNG_ERR_IO);
  assert_string_equal(e.message, knng_last_error());
  for (size_t i = sizeof e; i < sizeof memory; ++i) assert_int_equal(memory[i], 0x5a);
}

/* Code and text come from one call, whatever the thread does between. */
static void an_error_is_its_calls_own(void** state) {
  (void)state;
  knng_error first = knng_no_error(), second = knng_no_error();
  knng_graph* g = NULL;
  assert_int_equal(knng_graph_load(&g, "/nonexistent/graph.knng", NULL, &first), KNNG_ERR_IO);
  assert_int_equal(knng_set(NULL, "metric", "cosine", &second), KNNG_ERR_ARGUMENT);
  assert_int_equal(first.code, KNNG_ERR_IO);
  assert_non_null(strstr(first.message, "/nonexistent/graph.knng"));
  assert_string_equal(second.message, knng_last_error());
}

static void long_values_do_not_break_messages(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, "metric", "cosine");
  char text[4000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = 0;
  EXPECT_ERROR(knng_set(h, "metric", text, &reported), KNNG_ERR_OPTION, "metric");
  EXPECT_ERROR(knng_set(h, text, "cosine", &reported), KNNG_ERR_OPTION, "xxx");
  knng_graph* g = NULL;
  assert_int_not_equal(knng_graph_load(&g, text, NULL, NULL), KNNG_OK);
  assert_true(strlen(knng_last_error()) < sizeof((knng_error*)0)->message);
  knng_destroy(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_failed_yet),
      cmocka_unit_test(version_is_the_headers),
      cmocka_unit_test(numbers_come_with_the_message),
      cmocka_unit_test(messages_belong_to_their_thread),
      cmocka_unit_test(limits_are_the_nearest),
      cmocka_unit_test(an_error_without_its_size_is_refused),
      cmocka_unit_test(an_error_is_its_calls_own),
      cmocka_unit_test(only_what_both_know_is_written),
      cmocka_unit_test(long_values_do_not_break_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
