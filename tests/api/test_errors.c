/* Version, codes and messages: what a caller learns from a failure, and that it is the thread's own. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static knng_error fetched(void) {
  knng_error e;
  memset(&e, 0x5a, sizeof e);
  e.struct_size = sizeof e;
  assert_int_equal(knng_last_error_get(&e), KNNG_OK);
  return e;
}

static void version_is_the_headers(void** state) {
  (void)state;
  assert_int_equal(knng_version(), KNNG_VERSION);
}

/* Runs first: nothing has failed yet on this thread. */
static void nothing_failed_yet(void** state) {
  (void)state;
  assert_string_equal(knng_last_error(), "");
  const knng_error e = fetched();
  assert_int_equal(e.code, KNNG_OK);
  assert_string_equal(e.message, "");
}

static void numbers_come_with_the_message(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 40, 3, 1);
  knng* h = HANDLE(&rows, "device", "cpu");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 50, NULL, &g), KNNG_ERR_RANGE, "50", "51", "40");
  assert_null(g);
  knng_error e = fetched();
  assert_string_equal(e.argument, "k");
  assert_int_equal(e.given, 50);
  assert_int_equal(e.row, -1);
  assert_int_equal(e.col, -1);

  ((float*)rows.data)[7 * 3 + 2] = INFINITY;
  const knng_matrix m = matrix_of(&rows);
  EXPECT_ERROR(knng_add(h, &m), KNNG_ERR_DATA, "7", "2");
  e = fetched();
  assert_int_equal(e.row, 7);
  assert_int_equal(e.col, 2);

  /* A success leaves the message alone. */
  int64_t n = 0;
  expect_ok(knng_shape(h, &n, NULL, NULL), "knng_shape");
  assert_int_equal(n, 40);
  assert_int_equal(fetched().row, 7);
  knng_destroy(h);
  rows_free(&rows);
}

static void* look_at_my_errors(void* result) {
  int* ok = result;
  *ok = strcmp(knng_last_error(), "") == 0 && knng_build(NULL, 1, NULL, NULL) == KNNG_ERR_ARGUMENT &&
        strcmp(knng_last_error(), "") != 0;
  return NULL;
}

static void messages_belong_to_their_thread(void** state) {
  (void)state;
  EXPECT_ERROR(knng_set(NULL, "metric", "cosine"), KNNG_ERR_ARGUMENT, "");
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

static void asking_never_replaces_what_is_asked_for(void** state) {
  (void)state;
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_graph_load(&g, "/nonexistent/graph.knng"), KNNG_ERR_IO, "/nonexistent/graph.knng");
  assert_int_equal(knng_last_error_get(NULL), KNNG_ERR_ARGUMENT);
  knng_error small;
  memset(&small, 0, sizeof small);
  small.struct_size = 4;
  assert_int_equal(knng_last_error_get(&small), KNNG_ERR_ARGUMENT);
  assert_int_equal(fetched().code, KNNG_ERR_IO);
  assert_non_null(strstr(knng_last_error(), "/nonexistent/graph.knng"));
}

static void only_what_both_know_is_written(void** state) {
  (void)state;
  knng_graph* g = NULL;
  assert_int_equal(knng_graph_load(&g, "/nonexistent/graph.knng"), KNNG_ERR_IO);
  unsigned char memory[sizeof(knng_error) + 64];
  knng_error e;
  uint32_t size = 8; /* an old header: size and code only */
  memset(memory, 0x5a, sizeof memory);
  memcpy(memory, &size, sizeof size);
  assert_int_equal(knng_last_error_get((knng_error*)(void*)memory), KNNG_OK);
  memcpy(&e, memory, sizeof e);
  assert_int_equal(e.code, KNNG_ERR_IO);
  for (size_t i = size; i < sizeof memory; ++i) assert_int_equal(memory[i], 0x5a);

  size = sizeof memory; /* a newer header, with members that this library does not know */
  memset(memory, 0x5a, sizeof memory);
  memcpy(memory, &size, sizeof size);
  assert_int_equal(knng_last_error_get((knng_error*)(void*)memory), KNNG_OK);
  memcpy(&e, memory, sizeof e);
  assert_int_equal(e.code, KNNG_ERR_IO);
  assert_string_equal(e.message, knng_last_error());
}

static void long_values_do_not_break_messages(void** state) {
  (void)state;
  knng* h = HANDLE(NULL, "metric", "cosine");
  char text[4000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = 0;
  EXPECT_ERROR(knng_set(h, "metric", text), KNNG_ERR_OPTION, "metric");
  EXPECT_ERROR(knng_set(h, text, "cosine"), KNNG_ERR_OPTION, "xxx");
  knng_graph* g = NULL;
  assert_int_not_equal(knng_graph_load(&g, text), KNNG_OK);
  assert_true(strlen(knng_last_error()) < sizeof((knng_error*)0)->message);
  knng_destroy(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_failed_yet),
      cmocka_unit_test(version_is_the_headers),
      cmocka_unit_test(numbers_come_with_the_message),
      cmocka_unit_test(messages_belong_to_their_thread),
      cmocka_unit_test(asking_never_replaces_what_is_asked_for),
      cmocka_unit_test(only_what_both_know_is_written),
      cmocka_unit_test(long_values_do_not_break_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
