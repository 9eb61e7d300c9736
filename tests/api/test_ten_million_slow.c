/* 10,000,000 points in the plane: a build ends within a second of `stop`, whatever it is about to do. */
#include <stdlib.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/raiser.h"

static void stops_within_a_second(void** state) {
  (void)state;
  enum { n = 10 * 1000 * 1000, d = 2 };
  float* x = malloc(sizeof(float) * d * n);
  assert_non_null(x);
  uint32_t random = 1;
  for (int64_t i = 0; i < (int64_t)d * n; ++i) {
    random = random * 1664525U + 1013904223U;
    x[i] = (float)(random >> 8);
  }
  knng* h = HANDLE(NULL, "device", "cpu", "engine", "tree");
  const knng_matrix m = {.struct_size = sizeof m,
                         .dtype = KNNG_F32,
                         .space = KNNG_HOST,
                         .rows = n,
                         .cols = d,
                         .row_stride = d,
                         .col_stride = 1,
                         .data = x};
  expect_ok(knng_borrow(h, &m, NULL, NULL), "knng_borrow");
  double whole = 0;
  for (int run = 0; run < 2; ++run) { /* the first also finds the memory */
    const double began = seconds_now();
    knng_graph_destroy(built(h, 10));
    whole = seconds_now() - began;
  }
  /* Shares of a whole build: it looks for equal rows, makes the tree, searches it, and makes the result. */
  const double moments[] = {0.005, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95};
  int stopped = 0;
  for (size_t i = 0; i < sizeof moments / sizeof *moments; ++i) {
    const knng_control c = {.struct_size = sizeof c};
    double delay = 0;
    const knng_status status = stopped_build(h, 10, c, moments[i] * whole, &delay);
    if (status == KNNG_OK) continue; /* the last moments may come too late */
    assert_int_equal(status, KNNG_ERR_CANCELLED);
    ++stopped;
    print_message("stopped %.2f s after %.2f of %.2f s\n", delay, moments[i] * whole, whole);
    /* A busy machine gets more. */
    if (delay > 3) fail_msg("stopped after %.2f s", delay);
  }
  assert_true(stopped >= 5);
  knng_destroy(h);
  free(x);
}

int main(void) {
  if (small_run()) return 77; /* skipped */
  const struct CMUnitTest tests[] = {cmocka_unit_test(stops_within_a_second)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
