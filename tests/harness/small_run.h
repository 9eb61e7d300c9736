/* Whether the suite shall be brief: under sanitizers every load costs, and what they find does not need every
 * combination of settings. Each way is gone there, beside a part of the others; the plain run has them all. */
#ifndef KNNG_TESTS_HARNESS_SMALL_RUN_H
#define KNNG_TESTS_HARNESS_SMALL_RUN_H

#include <stdlib.h>

/* 1 if the environment says KNNG_TEST_SMALL=1. */
static inline int small_run(void) {
  const char* const value = getenv("KNNG_TEST_SMALL");
  return value && *value && *value != '0';
}

/* Whether a test does case number `turn` of a loop: every one; in a small run one of `ways` in a row, at a place that
 * moves from each such group to the next. The place is the sum of the digits of the group's number in base `ways`, so
 * that it falls in step with no loop inside or outside. */
static inline int tried(int turn, int ways) {
  int place = 0;
  for (int group = turn / ways; group > 0; group /= ways) place += group % ways;
  return !small_run() || turn % ways == place % ways;
}

#endif
