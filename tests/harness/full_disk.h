/* A file system that is full, played by a limit on the size of files. */
#ifndef KNNG_TESTS_HARNESS_FULL_DISK_H
#define KNNG_TESTS_HARNESS_FULL_DISK_H

#include <signal.h>
#include <sys/resource.h>

typedef struct {
  struct rlimit limit;
  void (*handler)(int);
} full_disk;

/* No file may get longer than 4,096 bytes until free_disk() is called. */
static inline full_disk fill_disk(void) {
  full_disk before;
  getrlimit(RLIMIT_FSIZE, &before.limit);
  const struct rlimit small = {4096, before.limit.rlim_max};
  before.handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  return before;
}

static inline void free_disk(const full_disk* before) {
  setrlimit(RLIMIT_FSIZE, &before->limit);
  signal(SIGXFSZ, before->handler);
}

#endif
