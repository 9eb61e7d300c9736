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

#endif
