/* Counting the threads of this process. The kernel may list one for some microseconds after it has been
 * joined. A thread that stays, stays longer than a second.
 */
#ifndef KNNG_TESTS_HARNESS_THREADS_H
#define KNNG_TESTS_HARNESS_THREADS_H

#include <dirent.h>
#include <time.h>

static inline int entries_of(const char* directory) {
  DIR* dir = opendir(directory);
  int count = 0;
  if (!dir) return -1;
  for (const struct dirent* entry = readdir(dir); entry; entry = readdir(dir)) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

/* The number of threads, as soon as it is `expected`, or after a second. */
static inline int threads_settled(int expected) {
  const struct timespec pause = {0, 1000 * 1000};
  int count = entries_of("/proc/self/task");
  for (int i = 0; i < 1000 && count != expected; ++i) {
    nanosleep(&pause, 0);
    count = entries_of("/proc/self/task");
  }
  return count;
}

#endif
