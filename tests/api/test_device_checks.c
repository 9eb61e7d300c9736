/* Rows that devices look at again before a call ends (check_rows): a list that is wrong ends it, whoever made it and
 * wherever its points were; as many rows are looked at as was asked for; nothing is read again for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

enum { N = 360, K = 21, ASKED = 90 };

typedef enum room { PLENTY, BLOCKS, SLICES } room;

typedef struct way {
  const char* label;
  const char* engine;
  room room;
  int64_t d;
  int asks, copies, on_device;
} way;

static const way ways[] = {{"all points there", "tiled", PLENTY, 20, 0, 0, 0},
                           {"kept on a device", "tiled", PLENTY, 20, 0, 0, 1},
                           {"points in blocks", "tiled", BLOCKS, 301, 0, 0, 0},
                           {"lists in slices", "tiled", SLICES, 5, 0, 0, 0},
                           {"queries", "tiled", PLENTY, 20, 1, 0, 0},
                           {"queries of points in blocks", "tiled", BLOCKS, 301, 1, 0, 0},
                           {"few dimensions", "tree", PLENTY, 3, 0, 0, 0},
                           {"queries in few dimensions", "tree", PLENTY, 3, 1, 0, 0},
                           {"equal rows", "tiled", PLENTY, 20, 0, 1, 0},
                           {"equal rows, kept there", "tiled", PLENTY, 20, 0, 1, 1},
                           {"all keys evaluated", "direct", PLENTY, 20, 0, 0, 0}};

typedef struct problem {
  test_rows rows, queries;
  int64_t leave_out[ASKED];
  question q;
} problem;

static void make(problem* p, const way* w) {
  p->rows = rows_normal(KNNG_F32, N, w->d, 601);
  const size_t row = (size_t)w->d * 4;
  if (w->copies) /* every row twice, side by side */
    for (size_t i = 0; i < N; i += 2) memcpy((char*)p->rows.data + (i + 1) * row, (char*)p->rows.data + i * row, row);
  p->queries = rows_normal(KNNG_F32, ASKED, w->d, 602);
  for (int64_t i = 0; i < ASKED; ++i) p->leave_out[i] = i % 3 ? i * 3 : -1;
  p->q = question_of(&p->rows, &metric_cases[1], K);
  if (w->asks) {
    p->q.queries = &p->queries;
    p->q.leave_out = p->leave_out;
  }
}

static void drop(problem* p) {
  rows_free(&p->rows);
  rows_free(&p->queries);
}

static knng* handle_of(const problem* p, const way* w, const char* device, const char* checked) {
  knng* h = handle_for(&p->q, device, w->engine, "auto", "0");
  expect_ok(knng_set(h, "check_rows", checked, NULL), checked);
  if (w->on_device) expect_ok(knng_set(h, "graph", "device", NULL), "graph");
  if (w->room != PLENTY) give_least_memory(h, w->asks ? ASKED : 0, K, w->room == SLICES);
  return h;
}

/* Ids and values, wherever they are. */
static void expect_lists(const knng_graph* expected, const knng_graph* g, int64_t rows, const char* label) {
  static int64_t ids[2][N * K];
  static double values[2][N * K];
  for (int i = 0; i < 2; ++i) {
    knng_matrix to_ids = knng_packed(KNNG_I64, rows, K, ids[i]), to_values = knng_packed(KNNG_F64, rows, K, values[i]);
    expect_ok(knng_graph_copy(i ? g : expected, 0, &to_ids, &to_values, NULL), label);
  }
  assert_memory_equal(ids[0], ids[1], (size_t)rows * K * 8);
  assert_memory_equal(values[0], values[1], (size_t)rows * K * 8);
}

static double checked_of(const knng_graph* g) { return stat_of(g, "checked"); }

static void as_many_as_were_asked_for(void** state) {
  (void)state;
  static const char* const numbers[] = {"0", "auto", "23", "100000"};
  int turn = 0;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const way* w = &ways[i];
    if (injecting_faults && w->on_device) continue; /* they have no memory of their own */
    problem p;
    make(&p, w);
    knng_graph* expected = graph_of_cpu(&p.q);
    const double all = w->engine[0] == 'd' ? 0 : w->asks ? ASKED : w->copies ? N / 2 : N;
    for (const char* const* set = device_sets(); *set; ++set)
      for (size_t n = 0; n < sizeof numbers / sizeof *numbers; ++n) {
        if (!tried(turn++, 4)) continue;
        knng* h = handle_of(&p, w, *set, numbers[n]);
        const double wanted = n == 0 ? 0 : n == 1 ? 4 : n == 2 ? 23 : all;
        const int64_t before = fake_devices && !injecting_faults ? fake_count("checked", 0) : 0;
        knng_graph* g = NULL;
        expect_ok(answer(h, &p.q, NULL, &g), w->label);
        expect_lists(expected, g, w->asks ? ASKED : N, w->label);
        assert_true(checked_of(g) == (wanted < all ? wanted : all));
        assert_true((stat_of(g, "seconds_check") > 0) == (checked_of(g) > 0));
        if (fake_devices && !injecting_faults)
          assert_true((double)(fake_count("checked", 0) - before) == checked_of(g));
        knng_graph_destroy(g);
        knng_destroy(h);
      }
    knng_graph_destroy(expected);
    drop(&p);
  }
}

/* No row gets a certain neighbour, on any device: bounds hold, all rows have a proof, and lists are wrong. */
static void a_neighbour_that_is_lost_is_missed(void** state) {
  (void)state;
  if (!fake_devices || injecting_faults) skip();
  int turn = 0;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const way* w = &ways[i];
    if (w->engine[0] == 'd') continue;
    problem p;
    make(&p, w);
    /* Of distinct rows one neighbour more is asked for: with their copies, and a row's own. */
    question near = p.q;
    near.k = w->copies ? 2 * (K + 1) + 1 : K;
    const int64_t lost = w->copies ? 22 : 11;
    knng_graph* expected = graph_of_cpu(&near);
    knng_matrix ids;
    memset(&ids, 0, sizeof ids);
    ids.struct_size = sizeof ids;
    expect_ok(knng_graph_view(expected, &ids, NULL, NULL), "ids");
    for (const char* const* set = device_sets(); *set; ++set) {
      if (!tried(turn++, 2)) continue;
      knng* blind = handle_of(&p, w, *set, "0");
      knng* h = handle_of(&p, w, *set, "100000");
      devices_behave("0:drops=11;1:drops=11;2:drops=11;3:drops=11");
      knng_graph* g = NULL;
      expect_ok(answer(blind, &p.q, NULL, &g), "unseen");
      assert_true(stat_of(g, "proved") == (double)ids.rows && stat_of(g, "bound_violations") == 0);
      knng_graph_destroy(g);
      g = NULL;
      EXPECT_ERROR(answer(h, &p.q, NULL, &g), KNNG_ERR_CHECK, "please report");
      assert_null(g);
      assert_string_equal(reported.argument, "check_rows");
      assert_true(!w->copies || reported.row % 2 == 0); /* the first of its like stands for it */
      int gets = 0;
      for (int64_t t = 0; t < near.k; ++t) gets |= ((const int64_t*)ids.data)[reported.row * near.k + t] == lost;
      assert_true(gets);
      assert_int_equal(fake_count("sessions", 0), 0);
      assert_int_equal(fake_count("bytes", 0), 0);
      devices_behave("");
      knng_destroy(blind);
      knng_destroy(h);
    }
    knng_graph_destroy(expected);
    drop(&p);
  }
}

/* On GPUs: the last neighbour of a row is another when it is looked at. */
static void an_entry_that_is_wrong_is_found(void** state) {
  (void)state;
  if (!injecting_faults) skip();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const way* w = &ways[i];
    if (w->engine[0] == 'd' || w->on_device || w->copies || w->room == SLICES) continue;
    problem p;
    make(&p, w);
    knng* h = handle_of(&p, w, "cuda:0", "100000");
    devices_behave("0:spoils=17");
    knng_graph* g = NULL;
    EXPECT_ERROR(answer(h, &p.q, NULL, &g), KNNG_ERR_CHECK, "row 17");
    assert_null(g);
    devices_behave("");
    expect_ok(answer(h, &p.q, NULL, &g), "unspoilt");
    assert_true(checked_of(g) > 23);
    knng_graph_destroy(g);
    knng_destroy(h);
    drop(&p);
  }
}

static void nothing_is_read_again(void** state) {
  (void)state;
  if (!fake_devices || injecting_faults) skip();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const way* w = &ways[i];
    problem p;
    make(&p, w);
    int64_t blocks[2] = {0, 0}, read[2] = {0, 0};
    for (int looks = 0; looks < 2; ++looks) {
      /* Blocks of one size, whatever else is there; but a tree has no tiles. */
      knng* h = handle_for(&p.q, "cuda:0", w->engine, "auto", strcmp(w->engine, "tree") == 0 ? "0" : "64");
      if (w->room != PLENTY) give_least_memory(h, w->asks ? ASKED : 0, K, w->room == SLICES);
      knng_plan plan = planned(h, w->asks ? ASKED : 0, K);
      expect_ok(knng_set(h, "check_rows", looks ? "40" : "0", NULL), "check_rows");
      if (w->room != PLENTY) set_bytes(h, "max_device_bytes", plan.device_bytes + (looks ? 40 * (N + 64) * 8 : 0));
      const int64_t blocks_before = fake_count("blocks", 0), read_before = fake_count("read", 0);
      knng_graph* g = NULL;
      expect_ok(answer(h, &p.q, NULL, &g), w->label);
      blocks[looks] = fake_count("blocks", 0) - blocks_before;
      read[looks] = fake_count("read", 0) - read_before;
      knng_graph_destroy(g);
      knng_destroy(h);
    }
    assert_true(w->room != BLOCKS || (blocks[0] > 0 && blocks[1] > 0));
    assert_true(blocks[1] <= blocks[0] && read[1] <= read[0]);
    drop(&p);
  }
}

static void what_fails_meanwhile(void** state) {
  (void)state;
  if (!fake_devices) skip();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const way* w = &ways[i];
    if (w->engine[0] == 'd') continue;
    problem p;
    make(&p, w);
    knng* h = handle_of(&p, w, "cuda:0", "100000");
    knng_graph* g = NULL;
    devices_behave("0:fails_at_check=1");
    EXPECT_ERROR(answer(h, &p.q, NULL, &g), KNNG_ERR_DEVICE, "cuda:0: injected failure");
    assert_null(g);
    volatile int32_t stop = 0;
    const knng_control c = {sizeof(knng_control), 0, NULL, NULL, NULL, &stop, 0};
    fake_stop(&stop);
    devices_behave("0:stop_comes_at_check=1");
    EXPECT_ERROR(answer(h, &p.q, &c, &g), KNNG_ERR_CANCELLED, "stopped");
    assert_null(g);
    fake_stop(NULL);
    devices_behave("");
    knng_destroy(h);
    drop(&p);
  }
}

int main(void) {
  const int status = devices_start();
  if (status != 0) return status;
  const struct CMUnitTest tests[] = {DEVICE_TEST(as_many_as_were_asked_for),
                                     DEVICE_TEST(a_neighbour_that_is_lost_is_missed),
                                     DEVICE_TEST(an_entry_that_is_wrong_is_found), DEVICE_TEST(nothing_is_read_again),
                                     DEVICE_TEST(what_fails_meanwhile)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
