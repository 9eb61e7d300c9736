/* Processes that fork, before and after builds: parent and child both go on building. */
#include <string.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/fork.h"

static test_rows rows;
static oracle_graph expected;

static void build_and_compare(const knng* h) {
  knng_graph* g = built(h, 6);
  expect_graph(g, &expected, "fork");
  knng_graph_destroy(g);
}

static void child_builds(const knng* h) {
  const pid_t child = forked();
  if (child == 0) {
    knng_graph* g = NULL;
    knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL);
    const int ok = knng_build(h, 6, NULL, &g, NULL) == KNNG_OK && knng_graph_view(g, &ids, NULL, NULL) == KNNG_OK &&
                   memcmp(ids.data, expected.ids, (size_t)(expected.rows * expected.width) * sizeof(int64_t)) == 0;
    knng_graph_destroy(g);
    _exit(ok ? 0 : 1);
  }
  expect_child_ok(child);
}

static void fork_before_any_build(void** state) {
  (void)state;
  knng* h = HANDLE(&rows, "device", "cpu", "threads", "3");
  child_builds(h);
  build_and_compare(h);
  knng_destroy(h);
}

static void fork_after_builds(void** state) {
  (void)state;
  knng* h = HANDLE(&rows, "device", "cpu", "threads", "3");
  for (int i = 0; i < 5; ++i) {
    build_and_compare(h);
    child_builds(h);
  }
  build_and_compare(h);
  knng_destroy(h);
}

int main(void) {
  rows = rows_grid(KNNG_F32, 300, 6, 4, 81);
  const oracle_task task = {"euclidean", 2, 0, 0};
  expected = oracle_build(&task, rows.n, rows.d, rows.x, 6);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fork_before_any_build),
      cmocka_unit_test(fork_after_builds),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  oracle_graph_free(&expected);
  rows_free(&rows);
  return failed;
}
