/* What every language is measured beside: a program in C from an array to arrays.
 *   speed f32|f64 FILE N      FILE: N rows of 784 values, row after row (f32) or, as R has them, column by column (f64)
 * Prints seconds of the clock and of all processors, and the largest memory in kB; of N = 0 that of a program that
 * makes no call. */
#define _POSIX_C_SOURCE 200809L
#include <knng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What getrusage() has is also of the process that started this one. */
static long peak(void) {
  long kilobytes = 0;
  char line[200];
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kilobytes);
  if (status) fclose(status);
  return kilobytes;
}

int main(int argc, char** argv) {
  if (argc != 4) return fputs("usage: speed f32|f64 FILE N\n", stderr), 2;
  const int doubles = strcmp(argv[1], "f64") == 0;
  const int64_t n = atoll(argv[3]), d = 784, k = 10;
  const size_t values = (size_t)(n * d), size = doubles ? sizeof(double) : sizeof(float);
  double wall = 0, used = 0;
  if (n > 0) {
    void* x = malloc(values * size);
    FILE* file = fopen(argv[2], "rb");
    if (!x || !file || fread(x, size, values, file) != values) return fprintf(stderr, "cannot read %s\n", argv[2]), 2;
    fclose(file);
    wall = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID);
    knng* h = NULL;
    knng_graph* g = NULL;
    knng_matrix rows = knng_packed(doubles ? KNNG_F64 : KNNG_F32, n, d, x), ids = rows, distances = rows;
    if (doubles) rows.row_stride = 1, rows.col_stride = n;
    if (knng_create(&h, 0, 0, NULL) || knng_borrow(h, &rows, NULL, NULL) || knng_build(h, k, NULL, &g, NULL) ||
        knng_graph_view(g, &ids, &distances, NULL))
      return fprintf(stderr, "%s\n", knng_last_error()), 1;
    wall = now(CLOCK_MONOTONIC) - wall, used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
    knng_destroy(h);
    knng_graph_destroy(g);
    free(x);
  }
  printf("%.6f %.6f %ld\n", wall, used, peak());
  return 0;
}
