/* A thread that raises a stop flag after some time, and the clock by which a build is seen to obey it. */
#ifndef KNNG_TESTS_HARNESS_RAISER_H
#define KNNG_TESTS_HARNESS_RAISER_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "harness/cmocka.h"
#include "knng.h"

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

static inline void* raise_later(void* argument) {
  raiser* r = argument;
  const time_t whole = (time_t)r->after;
  const struct timespec wait = {whole, (long)((r->after - (double)whole) * 1e9)};
  nanosleep(&wait, NULL);
  r->raised = seconds_now();
  __atomic_store_n(r->flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* A build with the control `c`, and a stop flag that goes up `after` so many seconds. Returns its status: KNNG_OK if
 * the flag came too late. delay: seconds from the flag to the end of the build. */
static inline knng_status stopped_build(const knng* h, int64_t k, knng_control c, double after, double* delay) {
  volatile int32_t stop = 0;
  raiser r = {&stop, after, 0};
  c.stop = &stop;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, raise_later, &r), 0);
  knng_graph* g = NULL;
  const knng_status status = knng_build(h, k, &c, &g, NULL);
  const double ended = seconds_now();
  pthread_join(thread, NULL);
  assert_int_equal(g != NULL, status == KNNG_OK);
  knng_graph_destroy(g);
  *delay = ended - r.raised;
  return status;
}

#endif
