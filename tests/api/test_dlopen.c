/* A host that loads the library at run time and unloads it again, as language runtimes do with extensions. It does not
 * link with the library. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "knng.h"

#include "harness/cmocka.h"
#include "harness/threads.h"

typedef knng_status (*create_function)(knng**, int64_t, int32_t, knng_error*);
typedef knng_status (*add_function)(knng*, const knng_matrix*, const knng_control*, knng_error*);
typedef knng_status (*build_function)(const knng*, int64_t, const knng_control*, knng_graph**, knng_error*);
typedef knng_status (*view_function)(const knng_graph*, knng_matrix*, knng_matrix*, knng_error*);
typedef void (*destroy_function)(knng*);
typedef void (*graph_destroy_function)(knng_graph*);
typedef const char* (*error_function)(void);

/* dlsym gives a data pointer; POSIX promises that it holds a function's address. */
static void find(void* library, const char* name, void* function) {
  void* symbol = dlsym(library, name);
  if (!symbol) fail_msg("%s is not exported", name);
  memcpy(function, &symbol, sizeof symbol);
}

static void load_build_unload(void** state) {
  (void)state;
  const int before = entries_of("/proc/self/task");
  for (int round = 0; round < 10; ++round) {
    void* library = dlopen(KNNG_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    create_function create;
    add_function add;
    build_function build;
    view_function view;
    destroy_function destroy;
    graph_destroy_function graph_destroy;
    error_function last_error;
    find(library, "knng_create", &create);
    find(library, "knng_add", &add);
    find(library, "knng_build", &build);
    find(library, "knng_graph_view", &view);
    find(library, "knng_destroy", &destroy);
    find(library, "knng_graph_destroy", &graph_destroy);
    find(library, "knng_last_error", &last_error);

    float x[40];
    for (int i = 0; i < 40; ++i) x[i] = (float)(i * i % 97);
    const knng_matrix rows = knng_packed(KNNG_F32, 20, 2, x);
    knng* h = NULL;
    knng_graph* g = NULL;
    assert_int_equal(create(&h, 0, 0, NULL), KNNG_OK);
    assert_int_equal(add(h, &rows, NULL, NULL), KNNG_OK);
    assert_int_equal(build(h, 20, NULL, &g, NULL), KNNG_ERR_RANGE);
    assert_non_null(strstr(last_error(), "20"));
    assert_int_equal(build(h, 3, NULL, &g, NULL), KNNG_OK);
    knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL);
    assert_int_equal(view(g, &ids, NULL, NULL), KNNG_OK);
    assert_int_equal(ids.rows, 20);
    graph_destroy(g);
    destroy(h);
    assert_int_equal(dlclose(library), 0);
    assert_int_equal(threads_settled(before), before);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(load_build_unload)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
