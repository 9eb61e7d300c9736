/* Environment variables replace defaults, once per process, and never a value that was set. The program runs itself
 * again with another environment; as a child it prints one setting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static const char* self;

/* child KEY [VALUE]: the setting KEY of a new handle, after setting it to VALUE; "status: message" on failure. */
static int child(int argc, char** argv) {
  knng* h = NULL;
  char buf[64] = "";
  knng_status status = knng_create(&h, 0, 0, NULL);
  if (status == KNNG_OK && argc > 3) status = knng_set(h, argv[2], argv[3], NULL);
  if (status == KNNG_OK) status = knng_get(h, argv[2], buf, sizeof buf, NULL, NULL);
  if (status == KNNG_OK) {
    /* Later changes of the environment are not seen. */
    setenv("KNNG_METRIC", "nonsense", 1);
    knng* again = NULL;
    status = knng_create(&again, 0, 0, NULL);
    knng_destroy(again);
  }
  knng_destroy(h);
  if (status == KNNG_OK)
    printf("%s", buf);
  else
    printf("%d: %s", (int)status, knng_last_error());
  return 0;
}

static void expect_output(const char* variable, const char* value, const char* arguments, const char* expected) {
  char command[4200], output[600] = "";
  assert_true(snprintf(command, sizeof command, "%s='%s' '%s' child %s", variable, value, self, arguments) <
              (int)sizeof command);
  FILE* pipe = popen(command, "r");
  assert_non_null(pipe);
  const size_t got = fread(output, 1, sizeof output - 1, pipe);
  output[got] = 0;
  const int status = pclose(pipe);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  if (!strstr(output, expected)) fail_msg("%s: '%s' does not say '%s'", command, output, expected);
}

static void variables_replace_defaults(void** state) {
  (void)state;
  expect_output("KNNG_THREADS", "3", "threads", "3");
  expect_output("KNNG_MAX_HOST_BYTES", "1KiB", "max_host_bytes", "1024");
  expect_output("KNNG_DEVICE", "cpu", "device", "cpu");
  expect_output("KNNG_THREADS", "", "threads", "0");
  expect_output("UNRELATED", "3", "threads", "0");
}

/* What a correct program's results mean, and how they are laid out, is the program's alone. */
static void variables_do_not_change_results(void** state) {
  (void)state;
  expect_output("KNNG_METRIC", "cosine", "metric", "euclidean");
  expect_output("KNNG_METRIC", "nonsense", "metric", "euclidean");
  expect_output("KNNG_VALUE_TYPE", "f64", "value_type", "auto");
  expect_output("KNNG_VALUE", "similarity", "value", "distance");
  expect_output("KNNG_SELF", "first", "self", "exclude");
  expect_output("KNNG_GRAPH", "device", "graph", "host");
  expect_output("KNNG_PRECISION", "fast", "precision", "exact");
  expect_output("KNNG_P", "1.5", "p", "auto");
}

static void what_is_set_stands(void** state) {
  (void)state;
  expect_output("KNNG_DEVICE", "cuda", "device cpu", "cpu");
  expect_output("KNNG_THREADS", "3", "threads 0", "0");
}

static void nonsense_is_refused(void** state) {
  (void)state;
  char code[16];
  snprintf(code, sizeof code, "%d: ", KNNG_ERR_OPTION);
  expect_output("KNNG_ENGINE", "nonsense", "metric", code);
  expect_output("KNNG_ENGINE", "nonsense", "metric", "KNNG_ENGINE");
  expect_output("KNNG_ENGINE", "nonsense", "metric", "nonsense");
  expect_output("KNNG_THREADS", "many", "metric", "many");
  expect_output("KNNG_THREADS", "many", "metric", "4096");
}

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "child") == 0) return child(argc, argv);
  self = argv[0];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(variables_replace_defaults),
      cmocka_unit_test(variables_do_not_change_results),
      cmocka_unit_test(what_is_set_stands),
      cmocka_unit_test(nonsense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
