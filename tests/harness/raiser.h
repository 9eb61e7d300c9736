/* A thread that raises a flag after some time, and the clock by which a call is seen to obey it. */
#ifndef KNNG_TESTS_HARNESS_RAISER_H
#define KNNG_TESTS_HARNESS_RAISER_H

#include <stdint.h>
#include <time.h>

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct raiser {
  volatile int32_t* flag;
  double after;  /* seconds */
  double raised; /* when it was */
} raiser;

/* For pthread_create(). */
static inline void* raise_later(void* argument) {
  raiser* r = argument;
  const time_t whole = (time_t)r->after;
  const struct timespec wait = {whole, (long)((r->after - (double)whole) * 1e9)};
  nanosleep(&wait, NULL);
  r->raised = seconds_now();
  __atomic_store_n(r->flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

#endif
