/* Odd sizes: every edge of tiles, panels, lanes and lists. Small integers make ties, normal values make none. */
#include <stdio.h>

#include "harness/cmocka.h"
#include "harness/compare.h"

static const char* const threads[] = {"1", "2", "4", NULL};
/* One of each kind: squared differences, a plain sum, two sums, a transform with its own degenerate rows. */
static const metric_case chosen[] = {
    {"euclidean", "2", 1}, {"cosine", "2", 1}, {"spearman", "2", 1}, {"manhattan", "2", 0}, {"braycurtis", "2", 0}};
enum { chosen_count = sizeof chosen / sizeof *chosen };

/* In a small run with every other metric, the others next time. */
static void check(int32_t dtype, int64_t n, int64_t d, int64_t k, const tile_size* tiles, int tile_count) {
  static int turn;
  for (int kind = 0; kind < 2; ++kind) {
    test_rows rows = kind ? rows_normal(dtype, n, d, (uint64_t)(n * d)) : rows_grid(dtype, n, d, 3, (uint64_t)(n + d));
    for (int m = 0; m < chosen_count; ++m) {
      if (!tried(turn++, 2)) continue;
      const oracle_task task = task_of(&chosen[m]);
      oracle_graph expected = oracle_build(&task, n, d, rows.x, k);
      check_build(&rows, &chosen[m], k, &expected, NULL, threads, tiles, tile_count, ALL_TILES);
      oracle_graph_free(&expected);
    }
    rows_free(&rows);
  }
}

static void two_points_and_more(void** state) {
  (void)state;
  static const tile_size tiles[] = {{"0", "0"}, {"1", "1"}, {"1", "7"}, {"7", "1"}, {"4", "4"}};
  for (int64_t n = 2; n <= 13; ++n)
    for (int64_t k = 1; k<n; k += n> 6 ? 3 : 1) check(KNNG_F32, n, 3, k, tiles, 5);
}

static void all_neighbours(void** state) {
  (void)state;
  static const tile_size tiles[] = {{"0", "0"}, {"8", "12"}};
  check(KNNG_F32, 70, 5, 69, tiles, 2);
  check(KNNG_F64, 65, 4, 64, tiles, 2);
  check(KNNG_U8, 33, 1, 32, tiles, 2);
}

static void every_dimension_up_to_two_folds(void** state) {
  (void)state;
  static const tile_size tiles[] = {{"0", "0"}};
  for (int64_t d = 1; d <= 70; ++d) check(row_dtypes[d % ROW_DTYPES], 21, d, 4, tiles, 1);
  check(KNNG_F32, 21, 127, 4, tiles, 1);
  check(KNNG_U8, 21, 1025, 4, tiles, 1);
}

static void around_tile_edges(void** state) {
  (void)state;
  static const tile_size tiles[] = {{"16", "16"}, {"16", "24"}, {"24", "16"}, {"15", "17"},
                                    {"1", "100"}, {"100", "1"}, {"16", "0"},  {"0", "16"}};
  for (int64_t n = 14; n <= 18; ++n) check(KNNG_F32, n, 9, 5, tiles, 8);
  for (int64_t n = 31; n <= 33; ++n) check(KNNG_F32, n, 9, 5, tiles, 8);
  for (int64_t n = 47; n <= 50; ++n) check(KNNG_I8, n, 9, 5, tiles, 8);
}

static void around_planned_tiles(void** state) {
  (void)state;
  static const tile_size tiles[] = {{"0", "0"}};
  static const int64_t sizes[] = {63, 64, 65, 127, 128, 129, 255, 257, 511, 512, 513, 1023, 1025};
  for (int i = 0; i < (small_run() ? 6 : 13); ++i) check(KNNG_F32, sizes[i], 2, 6, tiles, 1);
}

static void tiles_larger_than_the_data(void** state) {
  (void)state;
  static const tile_size tiles[] = {{"4096", "4096"}, {"1048576", "1"}, {"1", "4096"}};
  check(KNNG_F32, 40, 3, 5, tiles, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_points_and_more),
      cmocka_unit_test(all_neighbours),
      cmocka_unit_test(every_dimension_up_to_two_folds),
      cmocka_unit_test(around_tile_edges),
      cmocka_unit_test(around_planned_tiles),
      cmocka_unit_test(tiles_larger_than_the_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
