/* Devices answer as the CPU does in memory as it was planned: within the smallest budget, with whatever part of the
 * points they can hold; and what none of them can hold is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

static void expect_budget_error(const knng* h, const question* q, const char* name, int64_t smallest) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)smallest);
  knng_graph* g = NULL;
  EXPECT_ERROR(answer(h, q, NULL, &g), KNNG_ERR_BUDGET, name, text);
  assert_null(g);
  const knng_error e = reported;
  assert_true(e.limit == smallest && e.given == smallest - 1);
}

static void memory_is_as_planned(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, small_run() ? 700 : 1100, 20, 309),
            queries = rows_normal(KNNG_F32, 300, 20, 310);
  int64_t leave_out[300];
  for (int64_t i = 0; i < 300; ++i) leave_out[i] = i;
  /* In few dimensions devices answer rows, without tiles and lists. */
  test_rows low_rows = rows_normal(KNNG_F32, small_run() ? 500 : 1100, 3, 319),
            low_queries = rows_normal(KNNG_F32, 300, 3, 320);
  int turn = 0;
  for (int problem = 0; problem < 6; ++problem)
    for (const char* const* set = device_sets(); *set; ++set) {
      if (!tried(turn++, 4)) continue;
      question q = question_of(problem < 4 ? &rows : &low_rows, &metric_cases[problem == 3 ? 7 : 1], 10);
      if (problem == 1 || problem == 2) q.queries = &queries;
      if (problem == 5) q.queries = &low_queries;
      if (problem == 2 || problem == 5) q.leave_out = leave_out;
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      knng* h = handle_for(&q, *set, engine_for_many(&q), "auto", "0");
      const int64_t nq = q.queries ? 300 : 0;
      const knng_plan free = planned(h, nq, q.k);
      assert_true(free.device_bytes > 0 && free.smallest_device > 0 && free.smallest_device <= free.device_bytes);
      /* Tiles of more than 128 rows, the fewest, can be smaller: that is tried below. */
      assert_true(free.tile_rows <= 128 || free.smallest_device < free.device_bytes);
      assert_int_equal(free.devices, strcmp(*set, "cuda") == 0 ? 1 : (int64_t)strlen(*set) / 2 - 2);
      for (int step = 0; step < 3; ++step) {
        if (step > 0) set_bytes(h, "max_device_bytes", step == 1 ? free.device_bytes : free.smallest_device);
        const knng_plan plan = planned(h, nq, q.k);
        assert_true(plan.smallest_device == free.smallest_device);
        set_bytes(h, "max_host_bytes", plan.smallest_host);
        expect_ok(answer(h, &q, NULL, &g), "within the smallest budgets");
        expect_same(expected, g, "any budget");
        assert_true(stat_of(g, "bytes_device_peak") > 0);
        assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
        assert_true(stat_of(g, "bytes_host_peak") <= (double)plan.host_bytes);
        assert_true(stat_of(g, "tiles") == (double)plan.tiles);
        knng_graph_destroy(g);
        set_bytes(h, "max_host_bytes", plan.smallest_host - 1);
        expect_budget_error(h, &q, "max_host_bytes", plan.smallest_host);
        set_bytes(h, "max_host_bytes", plan.host_bytes + (INT64_C(1) << 30));
      }
      set_bytes(h, "max_device_bytes", free.smallest_device - 1);
      assert_true(planned(h, nq, q.k).smallest_device == free.smallest_device);
      expect_budget_error(h, &q, "max_device_bytes", free.smallest_device);
      knng_destroy(h);
      knng_graph_destroy(expected);
    }
  rows_free(&rows);
  rows_free(&queries);
  rows_free(&low_rows);
  rows_free(&low_queries);
}

static void count_logs(void* user, int32_t level, const char* text) {
  if (level == 1 && strstr(text, "cuda:0: injected lack of memory; again")) ++*(int*)user;
}

/* Devices whose memory others take between plan and build: smaller plans, down to the smallest, and then an error. */
static void memory_that_others_took(void** state) {
  (void)state;
  if (!fake_devices) skip();
  test_rows rows = rows_normal(KNNG_F32, 700, 20, 324), queries = rows_normal(KNNG_F32, 300, 20, 325);
  int turn = 0;
  for (int asked = 0; asked < 2; ++asked)
    for (const char* const* set = device_sets(); *set; ++set) {
      if (!tried(turn++, 4)) continue;
      question q = question_of(&rows, &metric_cases[1], 10);
      if (asked == 1) q.queries = &queries;
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      knng* h = handle_for(&q, *set, engine_for_many(&q), "auto", "0");
      const knng_plan free = planned(h, q.queries ? 300 : 0, q.k);
      assert_true(free.smallest_device < free.device_bytes);
      for (int step = -1; step <= 4; ++step) {
        const long long spare = step * (free.device_bytes - free.smallest_device) / 4;
        const long long holds = free.smallest_device + (step < 0 ? -1 : spare);
        char behaviour[48];
        snprintf(behaviour, sizeof behaviour, "0:holds=%lld", holds);
        devices_behave(behaviour);
        int logs = 0;
        knng_control control = {sizeof control, 0, NULL, &count_logs, &logs, NULL, 0};
        if (step < 0) {
          EXPECT_ERROR(answer(h, &q, &control, &g), KNNG_ERR_MEMORY, "cuda:0: injected lack of memory");
          assert_null(g);
        } else {
          expect_ok(answer(h, &q, &control, &g), behaviour);
          expect_same(expected, g, behaviour);
          assert_true(stat_of(g, "bytes_device_peak") <= (double)(step == 4 ? free.device_bytes : holds));
          knng_graph_destroy(g);
          g = NULL;
        }
        assert_true(step == 4 ? logs == 0 : logs >= 1);
        assert_int_equal(fake_count("sessions", 0), 0);
        devices_behave("");
      }
      knng_destroy(h);
      knng_graph_destroy(expected);
    }
  rows_free(&rows);
  rows_free(&queries);
}

/* Points that come block by block: whatever part of them a device can hold, and however many devices there are. */
static void more_points_than_fit(void** state) {
  (void)state;
  const int64_t n = small_run() ? 300 : 700;
  int64_t budgets = 0;
  for (int m = 0; m < device_metric_count(); m += small_run() ? 4 : 1) {
    test_rows rows = rows_positive(row_dtypes[m % ROW_DTYPES], n, 301, 321);
    test_rows queries = rows_positive(rows.dtype, 70, 301, 322); /* as they are planned for */
    for (int asked = 0; asked < 3; ++asked) {
      question q = question_of(&rows, &metric_cases[m], 6);
      if (asked == 0) q.queries = &queries;
      if (asked == 2) q.self = "first";
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      for (const char* const* set = device_sets(); *set; ++set) {
        /* Sessions of GPUs take long to open, and small runs long in all. Blocks are the same whatever the metric: it
         * meets every third set with each kind of question, and so each set with one of the three. */
        if ((set - device_sets() + m + asked) % (!fake_devices || small_run() ? 4 : 3)) continue;
        knng* h = handle_for(&q, *set, engine_for_many(&q), m % 3 ? "auto" : "insertion", "0");
        const int64_t nq = q.queries ? 70 : 0;
        const knng_plan free = planned(h, nq, q.k);
        /* Where sums take long, the fewest blocks and nearly all. */
        const int next = small_run() || (fake_devices && !is_product(&q.metric)) ? 3 : 1;
        for (int step = 0; step < 4; step += next) {
          /* From the least at all, or from three blocks of 128, up to nearly all. */
          set_bytes(h, "max_device_bytes",
                    free.smallest_device + step * (free.device_bytes - free.smallest_device) / 4);
          if (step == 0 && asked == 1) give_least_memory(h, 0, q.k, 0);
          const int64_t before = fake_devices ? fake_count("blocks", 0) : 0;
          const knng_plan plan = planned(h, nq, q.k);
          char label[160];
          snprintf(label, sizeof label, "blocks: %s device=%s asked=%d step=%d", q.metric.metric, *set, asked, step);
          expect_ok(answer(h, &q, NULL, &g), label);
          expect_same(expected, g, label);
          assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
          if (fake_devices && fake_count("blocks", 0) > before) ++budgets;
          knng_graph_destroy(g);
          g = NULL;
        }
        knng_destroy(h);
      }
      knng_graph_destroy(expected);
    }
    rows_free(&rows);
    rows_free(&queries);
  }
  if (fake_devices) assert_true(budgets > 0);
}

/* Blocks have the size of tiles, and no more pairs than end soon, whatever was asked for. */
static void blocks_that_are_cut(void** state) {
  (void)state;
  if (!fake_devices) skip(); /* others are at small tiles for no time */
  test_rows rows = rows_normal(KNNG_F32, 700, 301, 327), queries = rows_normal(KNNG_F32, 300, 301, 328);
  setenv("KNNG_FAKE_PAIRS", "40000", 1);
  int turn = 0;
  for (int with_queries = 0; with_queries < 2; ++with_queries)
    for (const char* const* set = device_sets(); *set; ++set) {
      if (!tried(turn++, 4)) continue;
      question q = question_of(&rows, &metric_cases[with_queries], 6);
      if (with_queries) q.queries = &queries;
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      knng* h = handle_for(&q, *set, engine_for_many(&q), "auto", "512");
      const int64_t nq = with_queries ? queries.n : 0, smallest = planned(h, nq, q.k).smallest_device;
      assert_int_equal(planned(h, nq, q.k).tile_cols, 512);
      set_bytes(h, "max_device_bytes", smallest);
      assert_int_equal(planned(h, nq, q.k).tile_cols, 128);
      assert_int_equal(planned(h, nq, q.k).tile_rows, with_queries ? 300 : 128);
      for (int64_t more = 0; more < 400000; more += 100000) {
        const int64_t before = fake_count("blocks", 0);
        set_bytes(h, "max_device_bytes", smallest + more);
        expect_ok(answer(h, &q, NULL, &g), *set);
        expect_same(expected, g, *set);
        if (more == 0) assert_true(fake_count("blocks", 0) > before);
        knng_graph_destroy(g);
      }
      knng_destroy(h);
      knng_graph_destroy(expected);
    }
  unsetenv("KNNG_FAKE_PAIRS");
  rows_free(&rows);
  rows_free(&queries);
}

/* The scale of points in blocks is that of a sample, 512 of them: others may be far beyond it and are proved all the
 * same. Not by simulated devices, whose rungs know no scale. */
static void points_far_beyond_a_sample(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 700, 301, 325);
  for (int64_t e = 600 * rows.d; e < rows.n * rows.d; ++e) ((float*)rows.data)[e] *= 512;
  for (int self = 0; self < 2; ++self) {
    question q = question_of(&rows, &metric_cases[1], 6);
    q.self = self ? "first" : "exclude";
    knng_graph *expected = graph_of_cpu(&q), *g = NULL;
    knng* h = handle_for(&q, device_sets()[self && usable_devices > 1 ? 2 : 0], "tiled", "auto", "0");
    give_least_memory(h, 0, q.k, 0);
    expect_ok(answer(h, &q, NULL, &g), "far points");
    expect_same(expected, g, "far points");
    if (!fake_devices) assert_true(stat_of(g, "redone_fp64") == 0);
    knng_graph_destroy(g);
    knng_graph_destroy(expected);
    knng_destroy(h);
  }
  rows_free(&rows);
}

/* Lists that do not fit are there in slices: the same graph, with itself in front or not, of distinct rows or not; each
 * slice's stages have their names. */
typedef struct seen_slices {
  char stage[64];
  double done;
  int stages, of_slices;
} seen_slices;

static int32_t see_slices(void* user, const char* stage, double done, double total) {
  seen_slices* const seen = user;
  assert_true(done <= total);
  if (strcmp(stage, seen->stage) != 0) {
    snprintf(seen->stage, sizeof seen->stage, "%s", stage);
    ++seen->stages;
    seen->of_slices += strstr(stage, " of ") != NULL;
  } else {
    assert_true(done >= seen->done);
  }
  seen->done = done;
  return 0;
}

static void lists_that_do_not_fit(void** state) {
  (void)state;
  const int64_t n = small_run() ? 300 : 700;
  int distinct = 0;
  for (int m = 0; m < device_metric_count(); m += small_run() ? 4 : 1)
    for (int equal = 0; equal < 2; ++equal) {
      test_rows rows = rows_positive(row_dtypes[m % ROW_DTYPES], n, 5, 331);
      const int64_t half = n / 2 * rows.d * (rows.dtype & 0xff) / 8;
      if (equal) memcpy(rows.data, (const char*)rows.data + half, (size_t)half);
      question q = question_of(&rows, &metric_cases[m], 21);
      q.self = m % 2 ? "first" : "exclude";
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      for (const char* const* set = device_sets(); *set; ++set) {
        if ((set - device_sets() + m + equal) % (!fake_devices || small_run() ? 4 : 2)) continue;
        char label[120];
        snprintf(label, sizeof label, "slices: %s device=%s equal=%d", q.metric.metric, *set, equal);
        knng* h = handle_for(&q, *set, m % 3 == 2 || !has_device_filter(&q) ? "direct" : "tiled", "quick",
                             m % 3 ? "0" : "60");
        give_least_memory(h, 0, q.k, 1);
        const knng_plan plan = planned(h, 0, q.k);
        seen_slices seen = {"", 0, 0, 0};
        const knng_control control = {sizeof control, 1, &see_slices, NULL, &seen, NULL, 0};
        devices_behave("0:slow;1:slow;2:slow;3:slow");
        expect_ok(answer(h, &q, &control, &g), label);
        expect_same(expected, g, label);
        assert_true(stat_of(g, "bytes_device_peak") <= (double)plan.device_bytes);
        distinct += stat_of(g, "pairs") < (double)(n * n);
        if (stat_of(g, "pairs") == (double)(n * n) && strcmp(q.metric.metric, "inner_product") != 0 && fake_devices)
          assert_true(seen.of_slices > 0);
        devices_behave("");
        knng_graph_destroy(g);
        g = NULL;
        knng_destroy(h);
      }
      knng_graph_destroy(expected);
      rows_free(&rows);
    }
  if (fake_devices) assert_true(distinct > 0); /* of GPUs the plan for fewer rows takes more */
}

/* What a row of a later slice has: a value that fp32 cannot hold, or one that the metric refuses. */
static void rows_of_later_slices_are_named(void** state) {
  (void)state;
  int hellinger = 0;
  while (strcmp(metric_cases[hellinger].metric, "hellinger") != 0) ++hellinger;
  for (int refused = 0; refused < 2; ++refused) {
    test_rows rows = rows_positive(KNNG_F64, 500, 5, 332);
    double* const x = rows.data;
    if (refused) {
      x[450 * 5 + 2] = x[340 * 5 + 4] = -1;
    } else {
      for (int t = 0; t < 5; ++t) x[340 * 5 + t] = x[450 * 5 + t] = 1e25;
      x[450 * 5] = 2e25;
    }
    question q = question_of(&rows, &metric_cases[refused ? hellinger : 0], 21);
    q.value_type = "f32";
    knng_error failure;
    assert_null(answer_of_cpu(&q, &failure));
    knng* h = handle_for(&q, device_sets()[0], "direct", "quick", "0");
    give_least_memory(h, 0, q.k, 1);
    expect_answer(h, &q, NULL, &failure, "a later slice");
    knng_destroy(h);
    rows_free(&rows);
  }
}

/* Lists of queries as well, with rows that they leave out or not. */
static void queries_that_do_not_fit(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_F32, 300, 4, 333), queries = rows_normal(KNNG_F32, 700, 4, 334);
  int64_t leave_out[700];
  for (int64_t i = 0; i < 700; ++i) leave_out[i] = i % 3 ? (i * 7) % 300 : -1;
  int turn = 0;
  for (int left_out = 0; left_out < 2; ++left_out)
    for (const char* const* set = device_sets(); *set; ++set) {
      if (!tried(turn++, 2)) continue;
      question q = question_of(&rows, &metric_cases[1], 40);
      q.queries = &queries;
      if (left_out) q.leave_out = leave_out;
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      knng* h = handle_for(&q, *set, "tiled", "auto", "0");
      const knng_plan free = planned(h, 700, q.k);
      set_bytes(h, "max_device_bytes", free.smallest_device);
      assert_true(planned(h, 700, q.k).tile_rows <= 128);
      seen_slices seen = {"", 0, 0, 0};
      const knng_control control = {sizeof control, 1, &see_slices, NULL, &seen, NULL, 0};
      devices_behave("0:slow;1:slow;2:slow;3:slow");
      expect_ok(answer(h, &q, &control, &g), *set);
      expect_same(expected, g, *set);
      if (fake_devices) assert_true(seen.of_slices > 0);
      devices_behave("");
      knng_graph_destroy(g);
      knng_destroy(h);
      knng_graph_destroy(expected);
    }
  rows_free(&rows);
  rows_free(&queries);
}

/* A plan for queries is for queries of the rows' type. Those of a wider type are planned anew when they come: what they
 * need is said then, and is enough. */
static void wider_queries_are_planned_anew(void** state) {
  (void)state;
  static const int32_t types[] = {KNNG_F32, KNNG_F64};
  test_rows rows = rows_normal(KNNG_U8, 200, 2100, 335);
  int turn = 0;
  for (int t = 0; t < 2; ++t)
    for (const char* const* set = device_sets(); *set; ++set) {
      if (!tried(turn++, 2)) continue;
      test_rows bytes = rows_normal(KNNG_U8, 40, 2100, 336), wide = rows_normal(types[t], 40, 2100, 336);
      question q = question_of(&rows, &metric_cases[0], 5);
      q.queries = &wide;
      knng_graph *expected = graph_of_cpu(&q), *g = NULL;
      knng* h = handle_for(&q, *set, engine_for_many(&q), "auto", "0");
      const knng_plan plan = planned(h, 40, q.k);
      set_bytes(h, "max_device_bytes", plan.smallest_device);
      q.queries = &bytes;
      expect_ok(answer(h, &q, NULL, &g), "queries of bytes");
      knng_graph_destroy(g);
      q.queries = &wide;
      EXPECT_ERROR(answer(h, &q, NULL, &g), KNNG_ERR_BUDGET, "max_device_bytes", "the smallest that works");
      assert_null(g);
      const int64_t least = reported.limit;
      assert_true(reported.given == plan.smallest_device && least > plan.smallest_device);
      set_bytes(h, "max_device_bytes", least);
      expect_ok(answer(h, &q, NULL, &g), *set);
      expect_same(expected, g, *set);
      assert_true(stat_of(g, "bytes_device_peak") <= (double)least);
      knng_graph_destroy(g);
      set_bytes(h, "max_device_bytes", least - 1);
      expect_budget_error(h, &q, "max_device_bytes", least);
      knng_destroy(h);
      knng_graph_destroy(expected);
      rows_free(&bytes);
      rows_free(&wide);
    }
  rows_free(&rows);
}

/* Tiles that were asked for are of a slice's rows where all rows of one do not fit; columns are as many as were asked
 * for, and no want of memory makes them fewer. */
static void tiles_that_no_device_holds(void** state) {
  (void)state;
  test_rows rows = rows_normal(KNNG_U8, 1048576, 1, 326);
  const question q = question_of(&rows, &metric_cases[0], 3);
  knng* h = handle_for(&q, "cuda:0", "tiled", "auto", "1048576");
  knng_graph* g = NULL;
  set_bytes(h, "max_device_bytes", INT64_C(1) << 32);
  const knng_plan plan = planned(h, 0, q.k);
  assert_true(plan.device_bytes <= INT64_C(1) << 32 && plan.smallest_device <= plan.device_bytes);
  assert_true(plan.tile_rows < 1048576 && plan.tile_cols == 1048576);
  assert_true(plan.smallest_device > 128 * 4 * INT64_C(1048576)); /* four bytes a pair */
  set_bytes(h, "max_device_bytes", plan.smallest_device - 1);
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)plan.smallest_device);
  EXPECT_ERROR(answer(h, &q, NULL, &g), KNNG_ERR_BUDGET, "max_device_bytes", text);
  assert_null(g);
  knng_destroy(h);
  rows_free(&rows);
}

/* Few points are one tile on one device, and several on two; with more coordinates together there are several again.
 * Of more neighbours more points are one tile, and beyond these they are in few. */
static void few_points_are_in_few_tiles(void** state) {
  (void)state;
  const struct {
    int64_t rows, cols, k, tiles; /* 0: more than 1 */
  } cases[] = {{5000, 4, 3, 1},      {11000, 4, 3, 1},  {11001, 4, 3, 0},  {5000, 10000, 3, 1}, {5000, 12000, 3, 0},
               {5000, 12000, 33, 1}, {20480, 4, 33, 1}, {20481, 4, 33, 3}, {40960, 4, 33, 3},   {40961, 4, 33, 6}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
    test_rows rows = rows_normal(KNNG_U8, cases[c].rows, cases[c].cols, 327);
    const question q = question_of(&rows, &metric_cases[0], cases[c].k);
    knng* h = handle_for(&q, "cuda:0", "tiled", "auto", "0");
    const int64_t tiles = planned(h, 0, q.k).tiles;
    assert_true(cases[c].tiles == 0 ? tiles > 1 : tiles == cases[c].tiles);
    knng_destroy(h);
    if (usable_devices > 1) {
      h = handle_for(&q, "cuda:0,1", "tiled", "auto", "0");
      assert_true(planned(h, 0, q.k).tiles > 1);
      knng_destroy(h);
    }
    rows_free(&rows);
  }
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(memory_is_as_planned),        DEVICE_TEST(memory_that_others_took),
      DEVICE_TEST(more_points_than_fit),        DEVICE_TEST(blocks_that_are_cut),
      DEVICE_TEST(lists_that_do_not_fit),       DEVICE_TEST(rows_of_later_slices_are_named),
      DEVICE_TEST(queries_that_do_not_fit),     DEVICE_TEST(points_far_beyond_a_sample),
      DEVICE_TEST(tiles_that_no_device_holds),  DEVICE_TEST(wider_queries_are_planned_anew),
      DEVICE_TEST(few_points_are_in_few_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
