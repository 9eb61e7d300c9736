/* Environment variables replace defaults, once per process, and never a value that was set; errors name them. The
 * program runs itself again with another environment; as a child it prints one setting, or why there is no graph. */
#include <ctype.h>
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
    setenv("KNNG_ENGINE", "nonsense", 1);
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

/* build [KEY VALUE]: why there is no graph of 30 rows in 20 dimensions, after setting KEY. */
static int failing_child(int argc, char** argv) {
  knng* h = NULL;
  knng_graph* g = NULL;
  knng_error e = knng_no_error();
  float rows[600];
  for (int i = 0; i < 600; ++i) rows[i] = (float)(i * i % 101);
  const knng_matrix x = knng_packed(KNNG_F32, 30, 20, rows);
  knng_status status = knng_create(&h, 0, 0, &e);
  if (status == KNNG_OK && argc > 3) status = knng_set(h, argv[2], argv[3], &e);
  if (status == KNNG_OK) status = knng_add(h, &x, NULL, &e);
  if (status == KNNG_OK) status = knng_build(h, 3, NULL, &g, &e);
  printf("%s", strcmp(e.message, e.reason) == 0 && strcmp(e.message, knng_last_error()) == 0 ? e.message : "torn");
  knng_graph_destroy(g);
  knng_destroy(h);
  return 0;
}

static void run_self(const char* variable, const char* value, const char* arguments, char* output, size_t room) {
  char command[4200];
  assert_true(snprintf(command, sizeof command, "%s='%s' '%s' %s", variable, value, self, arguments) <
              (int)sizeof command);
  FILE* pipe = popen(command, "r");
  assert_non_null(pipe);
  const size_t got = fread(output, 1, room - 1, pipe);
  output[got] = 0;
  const int status = pclose(pipe);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run_child(const char* variable, const char* value, const char* arguments, char* output, size_t room) {
  char words[100];
  assert_true(snprintf(words, sizeof words, "child %s", arguments) < (int)sizeof words);
  run_self(variable, value, words, output, room);
}

static void expect_output(const char* variable, const char* value, const char* arguments, const char* expected) {
  char output[600] = "";
  run_child(variable, value, arguments, output, sizeof output);
  if (strcmp(output, expected) != 0) fail_msg("%s=%s: '%s' is not '%s'", variable, value, output, expected);
}

/* The child fails, and says so. */
static void expect_refusal(const char* variable, const char* value, const char* said) {
  char output[600] = "", code[16];
  run_child(variable, value, "metric", output, sizeof output);
  snprintf(code, sizeof code, "%d: ", KNNG_ERR_OPTION);
  if (strncmp(output, code, strlen(code)) != 0 || !strstr(output, said))
    fail_msg("%s=%s: '%s' does not say '%s'", variable, value, output, said);
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
  expect_refusal("KNNG_ENGINE", "nonsense", "KNNG_ENGINE");
  expect_refusal("KNNG_ENGINE", "nonsense", "nonsense");
  expect_refusal("KNNG_THREADS", "many", "many");
  expect_refusal("KNNG_THREADS", "many", "4096");
}

/* A value that its setting takes and this data does not: where it came from stands behind it. */
static void impossible_values_name_their_variable(void** state) {
  (void)state;
  static const struct {
    const char *variable, *value, *set, *said;
  } cases[] = {
      {"KNNG_ENGINE", "frob", "", "engine=frob (environment variable KNNG_ENGINE): it takes auto, direct"},
      {"KNNG_MAX_HOST_BYTES", "0.5", "",
       "max_host_bytes=0.5 (environment variable KNNG_MAX_HOST_BYTES) is less than 1 byte: "},
      {"KNNG_ENGINE", "tree", "", "engine=tree (environment variable KNNG_ENGINE) cannot do dimension 20, "},
      {"KNNG_ENGINE", "fused", "metric canberra",
       "engine=fused (environment variable KNNG_ENGINE) cannot do metric=canberra: "},
      {"KNNG_ENGINE", "direct", "selector quick",
       "selector=quick goes with engine=tiled, engine=direct (environment variable KNNG_ENGINE) has none"},
      {"KNNG_MAX_HOST_BYTES", "1KB", "",
       "max_host_bytes=1000 (environment variable KNNG_MAX_HOST_BYTES) is too small: "},
      {"KNNG_MAX_HOST_BYTES", "2500", "",
       "max_host_bytes=2500 (environment variable KNNG_MAX_HOST_BYTES) is too small: the smallest that works is "},
      {"KNNG_DEVICE", "cuda:1000", "", "device=cuda:1000 (environment variable KNNG_DEVICE): there is no CUDA device"},
      {"KNNG_DEVICE", "cpu", "graph device",
       "graph=device: device=cpu (environment variable KNNG_DEVICE) has no memory"},
      {"KNNG_ENGINE", "direct", "engine tree", "engine=tree cannot do dimension 20, "},
      {"KNNG_ENGINE", "tree", "engine tree", "engine=tree cannot do dimension 20, "},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    char output[600] = "", words[100];
    snprintf(words, sizeof words, "build %s", cases[c].set);
    run_self(cases[c].variable, cases[c].value, words, output, sizeof output);
    if (strncmp(output, cases[c].said, strlen(cases[c].said)) != 0)
      fail_msg("%s=%s %s: '%s' does not begin with '%s'", cases[c].variable, cases[c].value, cases[c].set, output,
               cases[c].said);
  }
}

/* Those that docs/guide/settings.md lists, and no other: the variable that an option names is read, and where it names
 * none, KNNG_ and its name are nothing. */
static void exactly_these_have_one(void** state) {
  (void)state;
  static const char* const documented[] = {"selector",       "engine",    "device",    "threads",
                                           "max_host_bytes", "tile_rows", "tile_cols", "max_device_bytes"};
  knng_option o = {.struct_size = sizeof o};
  int found = 0;
  for (int32_t i = 0; knng_option_get(i, &o, NULL) == KNNG_OK; ++i) {
    char variable[64] = "KNNG_";
    for (size_t c = 0; o.name[c]; ++c) variable[5 + c] = (char)toupper((unsigned char)o.name[c]);
    int is_documented = 0;
    for (size_t d = 0; d < sizeof documented / sizeof *documented; ++d)
      is_documented |= strcmp(o.name, documented[d]) == 0;
    found += is_documented;
    if (is_documented) {
      assert_string_equal(o.environment, variable);
      expect_refusal(variable, "no such value", variable);
    } else {
      assert_true(!o.environment || !*o.environment);
      expect_output(variable, "no such value", o.name, o.fallback);
    }
  }
  assert_int_equal(found, sizeof documented / sizeof *documented);
}

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "child") == 0) return child(argc, argv);
  if (argc > 1 && strcmp(argv[1], "build") == 0) return failing_child(argc, argv);
  self = argv[0];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(variables_replace_defaults), cmocka_unit_test(variables_do_not_change_results),
      cmocka_unit_test(what_is_set_stands),         cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(exactly_these_have_one),     cmocka_unit_test(impossible_values_name_their_variable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
