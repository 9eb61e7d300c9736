/* Which devices there are, by what names, which of them device=auto takes, and what is said where the one that is asked
 * for is missing, cannot be used, or is known to a library of another build only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/devices.h"
#include "harness/fork.h"

static void devices_are_listed_and_named(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 60, 4, 312);
  int32_t count = 0;
  knng_device d;
  d.struct_size = sizeof d;
  while (knng_device_get(count, &d, NULL) == KNNG_OK) ++count;
  assert_true(count >= usable_devices + 1);
  /* A text is there as a whole, or not at all. */
  knng_device cut;
  memset(&cut, 'x', sizeof cut);
  cut.struct_size = offsetof(knng_device, why_not) - 8;
  expect_ok(knng_device_get(0, &cut, NULL), "a struct that ends within a name");
  assert_true(cut.usable == 1 && cut.name[0] == 'x');
  char device[24], number[12], last[12];
  snprintf(device, sizeof device, "cuda:%d", count + 2);
  snprintf(number, sizeof number, "%d", count + 2);
  snprintf(last, sizeof last, "%d", count - 2);
  expect_device_error(&rows, device, number, last);
  const knng_error e = reported;
  assert_true(e.given == count + 2 && e.limit == count - 2);
  assert_string_equal(e.argument, "device");

  expect_where(&rows, "cuda:0", "cuda:0: ");
  expect_where(&rows, "cpu", "cpu: ");
  expect_where(&rows, "auto", "cpu: "); /* done before a device is awake */
  if (usable_devices > 1) expect_where(&rows, "cuda:1,0", "cuda:1,0: ");
  knng* h = HANDLE(&rows, "device", "cuda:0", "engine", "fused", "metric", "canberra");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_UNSUPPORTED, "engine=fused");
  knng_destroy(h);
  h = HANDLE(&rows, "device", "cuda:0", "engine", "tiled", "metric", "jensenshannon");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_UNSUPPORTED, "engine=tiled");
  knng_destroy(h);
  h = HANDLE(&rows, "device", "cuda:0", "tile_rows", "5", "tile_cols", "6");
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_OPTION, "5", "6");
  knng_destroy(h);
  rows_free(&rows);
}

static void devices_that_cannot_be_used(void** state) {
  (void)state;
  if (!fake_devices) skip();
  test_rows rows = rows_normal(KNNG_F32, 60, 4, 313);
  devices_behave("1:unusable");
  assert_string_equal(device_at(2).why_not, "made unusable by a test");
  assert_int_equal(device_at(2).usable, 0);
  assert_int_equal(device_at(1).usable, 1);
  expect_where(&rows, "cuda", "cuda:0: ");
  expect_device_error(&rows, "cuda:1", "made unusable by a test", "1");
  expect_device_error(&rows, "cuda:0,1", "made unusable by a test", "1");
  setenv("KNNG_FAKE_DEVICES", "2", 1);
  devices_behave("0:unusable");
  expect_where(&rows, "cuda", "cuda:1: ");
  devices_behave("0:unusable;1:unusable");
  expect_device_error(&rows, "cuda", "2", "made unusable by a test");
  setenv("KNNG_FAKE_DEVICES", "0", 1);
  assert_string_equal(device_at(1).why_not, "KNNG_FAKE_DEVICES is 0");
  assert_int_equal(device_at(1).usable, 0);
  EXPECT_ERROR(knng_device_get(2, &(knng_device){.struct_size = sizeof(knng_device)}, &reported), KNNG_ERR_RANGE, "2");
  expect_device_error(&rows, "cuda", "KNNG_FAKE_DEVICES is 0", "");
  knng* h = HANDLE(&rows, "graph", "device");
  knng_graph* g = NULL;
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_DEVICE, "graph=device", "KNNG_FAKE_DEVICES is 0");
  assert_null(g);
  knng_destroy(h);
  rows_free(&rows);
}

/* What pays on devices: seen in the plan, so that nobody has to do it. device=cuda takes what pays, never the CPU. */
static void auto_takes_what_pays_and_works(void** state) {
  (void)state;
  test_rows little = rows_normal(KNNG_U8, 16384, 256, 314), much = rows_normal(KNNG_U8, 1 << 20, 32, 320);
  knng *h = HANDLE(&little, "device", "auto"), *for_all = HANDLE(&much, "device", "auto");
  const knng_plan plan = planned(h, 0, 5);
  assert_true(plan.device_bytes > 0);
  assert_int_equal(plan.devices, 1); /* others would not be worth it */
  assert_int_equal(planned(for_all, 0, 5).devices, usable_devices < 4 ? usable_devices : 4);
  assert_int_equal(planned(for_all, 1 << 18, 5).devices, usable_devices < 2 ? usable_devices : 2);
  if (fake_devices) {
    static const char* const useless[] = {"0:unusable;1:unusable;2:unusable;3:unusable", "0:memory=1000000"};
    for (int i = 0; i < 2; ++i) {
      devices_behave(useless[i]);
      assert_int_equal(planned(h, 0, 5).device_bytes, 0);
    }
    devices_behave("1:memory=1000000"); /* nobody asks it */
    assert_int_equal(planned(h, 0, 5).device_bytes, plan.device_bytes);
    assert_int_equal(planned(for_all, 0, 5).device_bytes, 0);
    devices_behave("1:unusable");
    assert_int_equal(planned(for_all, 0, 5).devices, 3);
    devices_behave("0:unusable");
    assert_int_equal(planned(h, 0, 5).devices, 1);
  }
  expect_ok(knng_set(h, "device", "cuda", NULL), "GPUs");
  expect_ok(knng_set(for_all, "device", "cuda", NULL), "GPUs");
  if (fake_devices) {
    devices_behave("1:unusable");
    assert_int_equal(planned(for_all, 0, 5).devices, 3);
    devices_behave("");
  }
  assert_int_equal(planned(h, 0, 5).devices, 1);
  assert_int_equal(planned(h, 1, 5).devices, 1); /* too little for auto */
  assert_int_equal(planned(for_all, 0, 5).devices, usable_devices < 4 ? usable_devices : 4);
  assert_int_equal(planned(for_all, 1 << 18, 5).devices, usable_devices < 2 ? usable_devices : 2);
  if (fake_devices) devices_behave("0:unusable");
  expect_ok(knng_set(h, "device", "auto", NULL), "as before");
  expect_ok(knng_set(h, "engine", "fused", NULL), "an engine of both");
  assert_true(planned(h, 0, 5).device_bytes > 0);
  knng_destroy(h);
  knng_destroy(for_all);
  rows_free(&little);
  rows_free(&much);
}

static knng_status built_on(const test_rows* rows, const char* device, knng_graph** g) {
  knng* h = HANDLE(rows, "device", device);
  const knng_status status = knng_build(h, 3, NULL, g, NULL);
  knng_destroy(h);
  return status;
}

/* Where the only library of devices is one of another build: what is there and what was wanted is said, and nothing of
 * it is called. */
static void devices_of_another_build(void** state) {
  (void)state;
  const knng_device d = device_at(1);
  assert_int_equal(d.usable, 0);
  assert_null(strstr(d.name, "fake"));
  test_rows rows = rows_normal(KNNG_F32, 60, 4, 326);
  const metric_case euclidean = {"euclidean", "2", 1};
  const oracle_task task = task_of(&euclidean);
  oracle_graph expected = oracle_build(&task, rows.n, rows.d, rows.x, 3);
  knng_graph* g = NULL;
  knng* h = HANDLE(&rows, "device", "cuda");
  for (int tries = 0; tries < 3; ++tries) {
    EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_DEVICE, "device=cuda",
                 "libknng_cuda.so is of another build", ".another,", "this library has ", KNNG_BACKEND_BUILD_ID);
    assert_null(g);
    EXPECT_ERROR(built_on(&rows, "cuda:0", &g), KNNG_ERR_DEVICE, "device=cuda:0", "another build");
    assert_null(g);
    /* The handle that was refused a device takes the CPU. */
    expect_ok(knng_set(h, "device", tries ? "cpu" : "auto", NULL), "device");
    g = built(h, 3);
    expect_graph(g, &expected, "the CPU after a refusal");
    knng_graph_destroy(g);
    g = NULL;
    expect_ok(knng_set(h, "device", "cuda", NULL), "device");
  }
  knng_destroy(h);
  oracle_graph_free(&expected);
  rows_free(&rows);
}

/* In a process of its own, as a library stays once it is loaded; which finds libknng where there is no libknng_cuda.so
 * beside it. */
static void a_library_of_another_build_is_not_called(void** state) {
  (void)state;
  if (!fake_devices) skip();
  if (access(KNNG_INSTALL_PLUGIN_DIR "/libknng_cuda.so", F_OK) == 0) skip(); /* one is installed */
  char program[4096], folder[] = "another-build-XXXXXX", here[2048], path[2200], link[2300];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  assert_true(length > 0);
  program[length] = '\0';
  assert_non_null(getcwd(here, sizeof here));
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/%s", here, folder);
  snprintf(link, sizeof link, "%s/" KNNG_LIBRARY_NAME, path);
  assert_int_equal(symlink(KNNG_LIBRARY, link), 0);
  const pid_t child = forked();
  if (child == 0) {
    char search[8192];
    const char* const others = getenv("LD_LIBRARY_PATH");
    snprintf(search, sizeof search, "%s:%s", path, others ? others : path);
    setenv("LD_LIBRARY_PATH", search, 1);
    setenv("KNNG_FAKE_BUILD_ID", "another", 1);
    execl(program, program, "--another-build", (char*)NULL);
    _exit(99);
  }
  int status = -1;
  const pid_t ended = waitpid(child, &status, 0);
  unlink(link);
  rmdir(path);
  assert_int_equal(ended, child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--another-build") == 0) {
    const struct CMUnitTest another[] = {cmocka_unit_test(devices_of_another_build)};
    return cmocka_run_group_tests(another, NULL, NULL);
  }
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(devices_are_listed_and_named),
      DEVICE_TEST(devices_that_cannot_be_used),
      DEVICE_TEST(auto_takes_what_pays_and_works),
      DEVICE_TEST(a_library_of_another_build_is_not_called),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
