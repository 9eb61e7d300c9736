// malloc fails once, at each of the calls in turn that loading and saving archives make: in libzip and zlib, in the C
// library and the loader of the formats library. The call answers KNNG_ERR_MEMORY, never that a good file is damaged,
// that a package is missing or that the library has a defect, and works the next time.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "knng.h"

#include "harness/cmocka.h"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* p, std::size_t size);
}

namespace {

thread_local std::int64_t countdown = -1;  // calls of this thread until the one that fails; below 0: none fails
thread_local bool failed = false;

bool fails_now() noexcept {
  if (countdown < 0 || countdown-- > 0) return false;
  failed = true;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" void* malloc(std::size_t size) { return fails_now() ? nullptr : __libc_malloc(size); }
extern "C" void* calloc(std::size_t count, std::size_t size) {
  return fails_now() ? nullptr : __libc_calloc(count, size);
}
extern "C" void* realloc(void* p, std::size_t size) { return fails_now() ? nullptr : __libc_realloc(p, size); }

namespace {

// Calls `call` with the first, second, ... malloc failing, until none is left. It returns the status of one library
// call.
template <class Call>
void every_malloc_fails(const char* what, int at_least, Call&& call) {
  int told = 0;
  for (std::int64_t n = 0;; ++n) {
    failed = false;
    countdown = n;
    const knng_status status = call();
    countdown = -1;
    if (!failed) {
      if (status != KNNG_OK) fail_msg("%s in peace: %d %s", what, static_cast<int>(status), knng_last_error());
      break;
    }
    // What can do without is fine.
    if (status == KNNG_OK) continue;
    if (status != KNNG_ERR_MEMORY)
      fail_msg("%s, malloc %lld: %d %s", what, static_cast<long long>(n), static_cast<int>(status), knng_last_error());
    ++told;
  }
  std::printf("%s: %d times out of memory\n", what, told);
  assert_true(told >= at_least);
}

knng_graph* graph() {
  static std::int64_t ids[600];
  for (std::int64_t i = 0; i < 600; ++i) ids[i] = (i + 1) % 600;
  const knng_matrix m = knng_packed(KNNG_I64, 600, 1, ids);
  knng_graph* g = nullptr;
  assert_int_equal(knng_graph_import(&g, &m, nullptr, 0, 600, 1, nullptr), KNNG_OK);
  return g;
}

knng_status load(const char* path) {
  knng_graph* g = nullptr;
  const knng_status status = knng_graph_load(&g, path, nullptr, nullptr);
  if (status != KNNG_OK) assert_null(g);
  knng_graph_destroy(g);
  return status;
}

// In a process of its own for each: once it is there, the formats library stays.
void loading_the_formats_library(void**) {
  int told = 0;
  for (std::int64_t n = 0;; ++n) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      unsetenv("KNNG_BACKEND_DIR");  // it is looked for beside libknng
      const knng_graph* const g = graph();
      countdown = n;
      const knng_status status = knng_graph_save(g, "malloc-first.npz", nullptr, nullptr, nullptr);
      countdown = -1;
      if (status != KNNG_OK && status != KNNG_ERR_MEMORY)
        std::fprintf(stderr, "malloc %lld: %d %s\n", static_cast<long long>(n), static_cast<int>(status),
                     knng_last_error());
      _exit(!failed ? 0 : status == KNNG_OK ? 1 : status == KNNG_ERR_MEMORY ? 2 : 3);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 2);
    if (WEXITSTATUS(status) == 0) break;
    told += WEXITSTATUS(status) == 2;
  }
  std::printf("first use: %d times out of memory\n", told);
  assert_true(told >= 20);
  unlink("malloc-first.npz");
}

void archives(void**) {
  knng_graph* const g = graph();
  every_malloc_fails("save", 10, [&] { return knng_graph_save(g, "malloc.npz", nullptr, nullptr, nullptr); });
  every_malloc_fails("load", 10, [] { return load("malloc.npz"); });
  unlink("malloc.npz");
  knng_graph_destroy(g);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(loading_the_formats_library), cmocka_unit_test(archives)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
