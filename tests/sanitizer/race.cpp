// For the thread sanitizer's own test: the same sharing between OpenMP threads, ordered by a barrier (no report wanted)
// or not ordered at all (a report wanted). Knows nothing of the library.
#include <omp.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  const bool ordered = argc > 1 && std::strcmp(argv[1], "ordered") == 0;
  int shared[2] = {0, 0};
  int seen = 0;
#pragma omp parallel num_threads(2)
  {
    const int me = omp_get_thread_num();
    for (int round = 0; round < 1000; ++round) {
      if (ordered) {
        shared[me] += 1;
#pragma omp barrier
        if (me == 0) seen += shared[1 - me];
#pragma omp barrier
      } else {
        shared[0] += 1;
      }
    }
  }
  std::printf("%d %d %d\n", shared[0], shared[1], seen);
  return 0;
}
