/* Children of a test, which go on with the library. GCC 12's address sanitizer leaves its allocator locked in a child
 * if a thread was just ending at the fork (glibc's allocator is whole there): threads that are about to end are waited
 * for then. A child that hangs is killed. */
#ifndef KNNG_TESTS_HARNESS_FORK_H
#define KNNG_TESTS_HARNESS_FORK_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/cmocka.h"
#include "harness/threads.h"

/* As fork(); the child leaves by _exit(), so that no failure comes back into cmocka. */
static inline pid_t forked(void) {
#ifdef __SANITIZE_ADDRESS__
  assert_int_equal(threads_settled(1), 1);
#endif
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) alarm(100);
  return child;
}

/* Waits for it. */
static inline void expect_child_ok(pid_t child) {
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
