#!/bin/sh
# What the package costs beside a C program that makes the same calls, and beside other packages.
#   bench.sh INCLUDE_FOLDER LIBRARY_FOLDER R_LIBRARY_FOLDER ROWS WAY...      WAY: c, or one of bench.R
set -eu
include=$1 library=$2 r_library=$3 rows=$4
shift 4
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/c.c" <<'END'
#define _POSIX_C_SOURCE 200809L
#include <knng.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  const int64_t n = atoll(argv[argc - 1]), d = 784, k = 10;
  double *x = malloc((size_t)(n * d) * sizeof *x), *value = malloc((size_t)(n * k) * sizeof *value);
  int32_t *id = malloc((size_t)(n * k) * sizeof *id);
  FILE *f = fopen(argv[1], "rb");
  if (!f || fread(x, sizeof *x, (size_t)(n * d), f) != (size_t)(n * d)) return 2;
  fclose(f);
  const double wall = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID);
  knng *h = NULL;
  knng_graph *g = NULL;
  knng_matrix rows = knng_packed(KNNG_F64, n, d, x), ids = knng_packed(KNNG_I32, n, k, id);
  knng_matrix values = knng_packed(KNNG_F64, n, k, value);
  rows.row_stride = ids.row_stride = values.row_stride = 1;
  rows.col_stride = ids.col_stride = values.col_stride = n;
  if (knng_create(&h, 0, 0, NULL) || knng_set(h, "threads", "2", NULL) || knng_set(h, "device", "cpu", NULL) ||
      knng_borrow(h, &rows, NULL, NULL) || knng_build(h, k, NULL, &g, NULL) || knng_graph_copy(g, 1, &ids, &values, NULL))
    return fprintf(stderr, "%s\n", knng_last_error()), 1;
  knng_graph_destroy(g);
  knng_destroy(h);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("c %lld rows: %.2f s of processors, %.2f s of wall, peak %.0f MB\n", (long long)n,
         now(CLOCK_PROCESS_CPUTIME_ID) - used, now(CLOCK_MONOTONIC) - wall, (double)usage.ru_maxrss / 1000);
}
END
Rscript --vanilla "$here/bench.R" "$r_library" "$rows" "$work/rows" write
for way; do
  if [ "$way" = c ]; then
    [ -f "$work/c" ] || cc -O2 -std=c99 -I"$include" "$work/c.c" -L"$library" -Wl,-rpath,"$library" -lknng -o "$work/c"
    "$work/c" "$work/rows" "$rows"
  else
    Rscript --vanilla "$here/bench.R" "$r_library" "$rows" "$work/rows" "$way"
  fi
done
