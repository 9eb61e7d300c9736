/* The digits of scikit-learn, 1,797 x 64 small integers: every metric, element type, 1, 2 and 4 threads, three tile
 * sizes (each number of threads with one of them per type, with another for the next type), against the oracle: whole
 * under every engine that is fast for the metric, and a part under the tiled engine with each selector where it
 * evaluates canonical keys twice. The values are exact in every type, so that one oracle graph serves all six. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

enum { images = 1797, part = 500, pixels = 64, neighbours = 10 };

static double* digits;

static double* read_digits(void) {
  static unsigned char bytes[images * pixels + 1];
  FILE* pipe = popen("/usr/bin/python3 '" HARNESS_DIR "/digits.py'", "r");
  if (!pipe) return NULL;
  const size_t got = fread(bytes, 1, sizeof bytes, pipe);
  if (pclose(pipe) != 0 || got != images * pixels) return NULL;
  double* x = malloc(sizeof(double) * images * pixels);
  for (int i = 0; x && i < images * pixels; ++i) x[i] = bytes[i];
  return x;
}

static void every_metric_and_type(void** state) {
  (void)state;
  static const char* const threads[] = {"1", "2", "4", NULL};
  static const tile_size tiles[] = {{"0", "0"}, {"37", "100"}, {"256", "48"}};
  const int64_t n = small_run() ? 150 : images;
  for (int m = 0; m < metric_count(); ++m) {
    const metric_case* metric = &metric_cases[m];
    /* One exponent that needs pow() is enough here: test_metrics.c has the others. */
    if (strchr(metric->p, '.')) continue;
    const oracle_task task = task_of(metric);
    const int fast = engines_for(metric)[0].engine[0] == 'f'; /* fused */
    static const engine_case direct[] = {{"direct", "auto"}, {NULL, NULL}};
    oracle_graph expected = oracle_build(&task, n, pixels, digits, neighbours);
    const int64_t few = n < part ? n : part;
    oracle_graph of_few = oracle_build(&task, few, pixels, digits, neighbours);
    for (int t = 0; t < ROW_DTYPES; ++t) {
      if (t >= 6 && row_dtypes[t] != KNNG_I64) continue; /* one type for all wider integers; bools hold no digits */
      /* All images as the three types that take ways of their own; of the others a part. */
      const int large = row_dtypes[t] == KNNG_F32 || row_dtypes[t] == KNNG_F64 || row_dtypes[t] == KNNG_U8;
      test_rows rows = rows_from(row_dtypes[t], large ? n : few, pixels, digits);
      assert_memory_equal(rows.x, digits, (size_t)(rows.n * pixels) * sizeof(double));
      check_build(&rows, metric, neighbours, large ? &expected : &of_few, fast ? NULL : direct, threads, tiles, 3, t);
      rows_free(&rows);
      if (fast) continue;
      rows = rows_from(row_dtypes[t], few, pixels, digits);
      check_build(&rows, metric, neighbours, &of_few, NULL, threads, tiles, 3, t);
      rows_free(&rows);
    }
    oracle_graph_free(&of_few);
    oracle_graph_free(&expected);
  }
}

int main(void) {
  digits = read_digits();
  if (!digits) {
    printf("skipped: /usr/bin/python3 has no scikit-learn (package python3-sklearn)\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_metric_and_type)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(digits);
  return failed;
}
