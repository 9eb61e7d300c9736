/* Devices that are stopped, slow, full or broken: what is said, and that nothing of them stays behind. What
 * needs devices that misbehave runs on simulated devices, and some of it on GPUs with faults injected (--faults). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/devices.h"

/* What progress reports: stages come once, and their numbers do not fall. */
typedef struct witness {
  int calls, stop_at, wrong;
  char stages[16][64];
  int count;
  double done;
} witness;

static int32_t on_progress(void* user, const char* stage, double done, double total) {
  witness* w = user;
  ++w->calls;
  if (!(done >= 0 && done <= total)) w->wrong = 1;
  if (w->count == 0 || strcmp(w->stages[w->count - 1], stage) != 0) {
    for (int i = 0; i < w->count; ++i)
      if (strcmp(w->stages[i], stage) == 0) w->wrong = 1;
    if (w->count == 16) return 1;
    snprintf(w->stages[w->count++], sizeof w->stages[0], "%s", stage);
  } else if (done < w->done) {
    w->wrong = 1;
  }
  w->done = done;
  return w->stop_at > 0 && w->calls >= w->stop_at;
}

/* Rows, a question about them, and what the CPU answers. */
typedef struct asked {
  test_rows rows;
  question q;
  knng_error failure;
  knng_graph* expected;
} asked;

static void ask(asked* a, test_rows rows) {
  a->rows = rows;
  a->q = question_of(&a->rows, &metric_cases[1], 5);
  a->expected = answer_of_cpu(&a->q, &a->failure);
}

static void asked_free(asked* a) {
  knng_graph_destroy(a->expected);
  rows_free(&a->rows);
}

/* Stops the call at its first report, its second and so on (later, and in a small run sooner, at every eighth), until
 * it is done before. Returns how often it was stopped; stages: how many a whole call had. */
static int stop_at_every_report(const knng* h, const asked* a, int* stages) {
  int stopped = 0;
  knng_graph* g = NULL;
  for (int at = 1; at <= 200; at += at > (small_run() ? 5 : 20) ? 8 : 1) {
    witness w;
    memset(&w, 0, sizeof w);
    w.stop_at = at;
    const knng_control c = {sizeof(knng_control), 1, on_progress, NULL, &w, NULL, 0};
    const knng_status status = answer(h, &a->q, &c, &g);
    assert_int_equal(w.wrong, 0);
    if (fake_devices) assert_int_equal(fake_count("sessions", 0), 0);
    if (status == KNNG_OK) {
      expect_same(a->expected, g, "not stopped");
      knng_graph_destroy(g);
      *stages = w.count;
      return stopped;
    }
    EXPECT_ERROR(status, KNNG_ERR_CANCELLED, "stopped");
    assert_null(g);
    ++stopped;
  }
  witness w; /* so many reports that the end was not seen */
  memset(&w, 0, sizeof w);
  const knng_control c = {sizeof(knng_control), 1, on_progress, NULL, &w, NULL, 0};
  expect_ok(answer(h, &a->q, &c, &g), "not stopped");
  expect_same(a->expected, g, "not stopped");
  knng_graph_destroy(g);
  *stages = w.count;
  return stopped;
}

/* One of cuda:0 to cuda:2 fails in some call while the others are slow, so that it gets work; nothing stays behind. */
static void expect_failure_of(const knng* h, const question* q, int device, const char* call, knng_status code) {
  char behaviour[120], name[24];
  snprintf(behaviour, sizeof behaviour, "%d:slow;%d:slow;%d:%s", (device + 1) % 3, (device + 2) % 3, device, call);
  snprintf(name, sizeof name, "cuda:%d: ", device);
  devices_behave(behaviour);
  knng_graph* g = NULL;
  EXPECT_ERROR(answer(h, q, NULL, &g), code, name, "injected");
  assert_null(g);
  devices_teardown(NULL);
}

static void stopped_at_every_report(void** state) {
  (void)state;
  if (fake_devices) devices_behave("0:slow;1:slow;2:slow;3:slow");
  asked a;
  ask(&a, heaps(500, 12)); /* climbs the whole ladder */
  int turn = 0;
  for (const char* const* set = device_sets(); *set; ++set) {
    if (!tried(turn++, 2)) continue;
    knng* h = handle_for(&a.q, *set, "tiled", "auto", "128");
    int stages = 0;
    assert_true(stop_at_every_report(h, &a, &stages) >= 1);
    assert_true(stages >= (fake_devices ? 3 : 1));
    knng_destroy(h);
  }
  asked_free(&a);
}

static void slow_devices_get_less(void** state) {
  (void)state;
  if (!fake_devices) skip();
  asked a;
  ask(&a, rows_normal(KNNG_F32, 300, 4, 315));
  knng_graph* g = NULL;
  devices_behave("0:slow");
  setenv("KNNG_FAKE_TILE_MS", "50", 1);
  knng* h = handle_for(&a.q, "cuda:0,1", "direct", "quick", "16");
  const int64_t slow = fake_count("tiles", 0), quick = fake_count("tiles", 1);
  expect_ok(answer(h, &a.q, NULL, &g), "a slow device");
  expect_same(a.expected, g, "a slow device");
  const int64_t by_slow = fake_count("tiles", 0) - slow, by_quick = fake_count("tiles", 1) - quick;
  assert_true((double)(by_slow + by_quick) == stat_of(g, "tiles"));
  assert_true(by_slow >= 1 && by_slow < by_quick);
  unsetenv("KNNG_FAKE_TILE_MS");
  knng_graph_destroy(g);
  knng_destroy(h);
  asked_free(&a);
}

static int64_t tiles_of_all(void) {
  int64_t sum = 0;
  for (int device = 0; device < 4; ++device) sum += fake_count("tiles", device);
  return sum;
}

/* Where a device would take long over a pair, tiles have fewer, whatever was asked for. */
static void tiles_end_soon(void** state) {
  (void)state;
  if (!fake_devices) skip();
  asked a;
  ask(&a, rows_grid(KNNG_F32, 300, 8, 3, 319)); /* full of ties */
  static const struct {
    const char *pairs, *tile;
    int64_t tiles;
  } cases[] = {{"1", "0", 6 /* of 128 rows and columns, the smallest */},
               {"1000000", "0", 1},
               {"1", "200", 6},
               {"1000000", "200", 3},
               {"1", "100", 6},
               {"1", "10", 465}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (const char* const* set = device_sets(); *set; ++set) {
      knng* h = handle_for(&a.q, *set, "direct", "quick", cases[c].tile);
      knng_graph* g = NULL;
      const int64_t before = tiles_of_all();
      setenv("KNNG_FAKE_PAIRS", cases[c].pairs, 1);
      expect_ok(answer(h, &a.q, NULL, &g), "pairs at a time");
      expect_same(a.expected, g, "pairs at a time");
      assert_int_equal(tiles_of_all() - before, cases[c].tiles);
      unsetenv("KNNG_FAKE_PAIRS");
      knng_graph_destroy(g);
      knng_destroy(h);
    }
  asked_free(&a);
}

/* In few dimensions rows are answered straight away: whoever is free takes the next, and a failure is reported. */
static void devices_that_answer_rows(void** state) {
  (void)state;
  if (!fake_devices) skip();
  asked a;
  ask(&a, rows_normal(KNNG_F32, 300, 3, 318));
  knng_graph* g = NULL;
  setenv("KNNG_FAKE_TILE_MS", "50", 1);
  for (const char* const* set = device_sets(); *set; ++set) {
    knng* h = handle_for(&a.q, *set, "tree", "auto", "16");
    const int64_t slow = fake_count("tiles", 0), all = tiles_of_all();
    devices_behave("0:slow");
    expect_ok(answer(h, &a.q, NULL, &g), "rows");
    expect_same(a.expected, g, "rows");
    assert_true(stat_of(g, "tiles") == 19); /* calls of 16 rows, and 12 */
    /* Boxes rule out some of them where it is GPUs. */
    assert_true(injecting_faults ? stat_of(g, "keys") >= 300 * 5 && stat_of(g, "keys") <= 300 * 300
                                 : stat_of(g, "keys") == 300 * 299);
    assert_true(stat_of(g, "refined") == 0 && stat_of(g, "redone_fp32") == 0 && stat_of(g, "redone_fp64") == 0);
    char text[24];
    expect_ok(knng_graph_text(g, "engine", text, sizeof text, NULL, NULL), "engine");
    assert_string_equal(text, "tree");
    expect_ok(knng_graph_text(g, "selector", text, sizeof text, NULL, NULL), "selector");
    assert_string_equal(text, "none");
    unsigned char* proof = rows_of(g, "proof");
    for (int64_t i = 0; i < 300; ++i) assert_int_equal(proof[i], 4);
    free(proof);
    knng_graph_destroy(g);
    if (!strchr(*set, ','))
      assert_true(fake_count("tiles", 0) - slow == 19);
    else
      assert_true(2 * (fake_count("tiles", 0) - slow) < tiles_of_all() - all);
    knng_destroy(h);
  }
  knng* h = handle_for(&a.q, "cuda:2,0,1", "tree", "auto", "16");
  for (int device = 0; device < 3; ++device) {
    expect_failure_of(h, &a.q, device, "fails_at_answer=1", KNNG_ERR_DEVICE);
    expect_failure_of(h, &a.q, device, "fails_at_answer=2", KNNG_ERR_DEVICE);
  }
  devices_behave("0:slow;1:slow;2:slow");
  int stages = 0;
  assert_true(stop_at_every_report(h, &a, &stages) >= 1);
  unsetenv("KNNG_FAKE_TILE_MS");
  /* Who asks for a selector gets tiles. */
  devices_behave("0:fails_at_answer=1;1:fails_at_answer=1;2:fails_at_answer=1");
  knng* tiles = handle_for(&a.q, "cuda:2,0,1", "direct", "quick", "64");
  expect_answer(tiles, &a.q, a.expected, &a.failure, "a selector");
  knng_destroy(tiles);
  knng_destroy(h);
  asked_free(&a);
}

static void full_devices_get_smaller_tiles_or_nothing(void** state) {
  (void)state;
  if (!fake_devices) skip();
  asked a;
  ask(&a, rows_normal(KNNG_F32, 700, 4, 316));
  knng_graph* g = NULL;
  knng* h = handle_for(&a.q, "cuda:0,1", engine_for_many(&a.q), "auto", "0");
  const knng_plan plan = planned(h, 0, 5);
  char behaviour[48], free[24], needed[24];
  snprintf(behaviour, sizeof behaviour, "1:memory=%lld", (long long)plan.smallest_device);
  devices_behave(behaviour);
  const knng_plan narrow = planned(h, 0, 5);
  assert_true(narrow.tile_rows < plan.tile_rows && narrow.device_bytes <= plan.smallest_device);
  expect_ok(answer(h, &a.q, NULL, &g), "just enough memory");
  expect_same(a.expected, g, "just enough memory");
  knng_graph_destroy(g);
  snprintf(free, sizeof free, "%lld", (long long)plan.smallest_device - 1);
  snprintf(needed, sizeof needed, "%lld", (long long)plan.smallest_device);
  snprintf(behaviour, sizeof behaviour, "1:memory=%s", free);
  devices_behave(behaviour);
  EXPECT_ERROR(answer(h, &a.q, NULL, &g), KNNG_ERR_DEVICE, "device=cuda:0,1", free, needed);
  devices_behave("1:memory=1"); /* whichever engine it is */
  expect_device_error(&a.rows, "cuda:0,1", "bytes are free", "");
  expect_where(&a.rows, "cuda:0,2", "cuda:0,2");
  knng_destroy(h);
  asked_free(&a);
}

/* Whichever call fails on whichever device, the call ends with that device's error, and works when it is repaired. */
static void devices_that_fail(void** state) {
  (void)state;
  if (!fake_devices) skip();
  static const char* const calls[] = {"open=1",   "begin=1",       "begin=2",       "tile=1",   "settle=1",
                                      "settle=2", "merge_lists=1", "merge_lists=2", "refine=1", "refine=2"};
  asked a;
  ask(&a, heaps(300, 12));
  knng_graph* g = NULL;
  knng* h = handle_for(&a.q, "cuda:2,0,1", engine_for_many(&a.q), "auto", "32");
  int64_t memory_free = 0;
  int way = 0;
  for (int turn = 0; turn < (injecting_faults ? 2 : 1); ++turn) { /* the first brings kernels to GPUs */
    if (turn > 0) memory_free = settled_memory_free();
    for (int device = 0; device < 3; ++device)
      for (size_t c = 0; c < sizeof calls / sizeof *calls; ++c)
        for (int memory = 0; memory < 2; ++memory) {
          if (!tried(way++, 2)) continue;
          char call[32];
          snprintf(call, sizeof call, "%s_at_%s", memory ? "out_of_memory" : "fails", calls[c]);
          expect_failure_of(h, &a.q, device, call, memory ? KNNG_ERR_MEMORY : KNNG_ERR_DEVICE);
        }
  }
  assert_true(settled_memory_free() >= memory_free);
  /* With many tiles devices tell each other their cut-offs. */
  knng* many = handle_for(&a.q, "cuda:2,0,1", engine_for_many(&a.q), "auto", "5");
  devices_behave("");
  const int64_t adopted = fake_count("cut-offs", 0);
  expect_answer(many, &a.q, a.expected, &a.failure, "cut-offs");
  assert_true(fake_count("cut-offs", 0) > adopted);
  expect_failure_of(many, &a.q, 1, "fails_at_adopt_cutoffs=2", KNNG_ERR_DEVICE);
  knng_destroy(many);
  /* Of several failures, the first device's in the order in which they were asked for. */
  devices_behave("0:fails_at_settle=1;1:fails_at_settle=1;2:fails_at_settle=1");
  EXPECT_ERROR(answer(h, &a.q, NULL, &g), KNNG_ERR_DEVICE, "cuda:2: injected failure");
  devices_behave("0:fails_at_redo=1;1:fails_at_redo=1;2:fails_at_redo=1");
  EXPECT_ERROR(answer(h, &a.q, NULL, &g), KNNG_ERR_DEVICE, "injected failure");
  devices_behave("");
  expect_answer(h, &a.q, a.expected, &a.failure, "repaired");
  knng_destroy(h);
  asked_free(&a);
}

/* Rows that the first precision proves. */
static int64_t filtered_of(const knng_graph* g, int64_t n) {
  unsigned char* proof = rows_of(g, "proof");
  int64_t filtered = 0;
  for (int64_t i = 0; i < n; ++i) filtered += proof[i] == 1;
  free(proof);
  return filtered;
}

/* Precisions that prove too few of a sample of the rows are not tried with all of them. */
static void a_sample_picks_the_precision(void** state) {
  (void)state;
  if (!fake_devices) skip();
  int64_t without_filter = 0, with_filter = 0;
  for (int shrink = 0; shrink <= 14; shrink += 2) {
    asked a;
    ask(&a, heaps(400, shrink));
    knng* h = handle_for(&a.q, "cuda:0,1", "tiled", "auto", "0");
    knng_graph* g = NULL;
    devices_behave("");
    const int64_t before = fake_count("tiles", 0) + fake_count("tiles", 1);
    expect_ok(answer(h, &a.q, NULL, &g), "all precisions in turn");
    const int64_t in_turn = fake_count("tiles", 0) + fake_count("tiles", 1) - before;
    knng_graph_destroy(g);
    devices_behave("0:samples");
    expect_ok(answer(h, &a.q, NULL, &g), "sampled");
    const int64_t sampled = fake_count("tiles", 0) + fake_count("tiles", 1) - before - in_turn;
    expect_same(a.expected, g, "sampled");
    assert_true(stat_of(g, "proved") == 400);
    const int64_t filtered = filtered_of(g, 400);
    assert_true(sampled <= in_turn);
    if (filtered == 0) {
      ++without_filter;
      assert_true(sampled < in_turn);
    } else {
      ++with_filter;
    }
    knng_graph_destroy(g);
    devices_behave("0:samples;0:crowds;1:crowds"); /* what lists leave goes on to the next precision */
    expect_ok(answer(h, &a.q, NULL, &g), "sampled, and crowded");
    expect_same(a.expected, g, "sampled, and crowded");
    assert_true(stat_of(g, "proved") == 400);
    unsigned char* proof = rows_of(g, "proof");
    int64_t redone = 0;
    for (int64_t i = 0; i < 400; ++i) redone += proof[i] == 4;
    assert_true(stat_of(g, "redone_fp64") == (double)redone);
    free(proof);
    knng_graph_destroy(g);
    expect_failure_of(h, &a.q, 0, "fails_at_sample=1", KNNG_ERR_DEVICE);
    devices_behave("");
    knng_destroy(h);
    asked_free(&a);
  }
  assert_true(without_filter > 0 && with_filter > 0);
}

/* Whatever rank cut-offs are guessed at: rows whose k-th key is above are found to be without a proof, and where a
 * sample tells that most are, the guesses go. */
static void guesses_are_proved(void** state) {
  (void)state;
  if (!fake_devices) skip();
  asked a;
  ask(&a, rows_normal(KNNG_F32, 400, 6, 331)); /* k is 5: about one of four columns is looked at */
  static const char* const sets[] = {"cuda:0", "cuda:2,0,1"};
  int turn = 0;
  for (int set = 0; set < 2; ++set)
    for (int rank = 1; rank <= 64; rank *= 2)
      for (int samples = 0; samples < 2; ++samples) {
        if (!tried(turn++, 2)) continue;
        char behaviour[120], label[160];
        snprintf(behaviour, sizeof behaviour, "0:guesses=%d;1:guesses=%d;2:guesses=%d%s", rank, rank, rank,
                 samples ? ";0:samples;2:samples" : "");
        snprintf(label, sizeof label, "%s %s", sets[set], behaviour);
        knng* h = handle_for(&a.q, sets[set], "tiled", "auto", "0");
        devices_behave(behaviour);
        const int64_t before = fake_count("guesses", 0);
        knng_graph* g = NULL;
        expect_ok(answer(h, &a.q, NULL, &g), label);
        /* Each row by one device, unless a sample said that it is of no use. */
        if (!samples || rank >= 16) assert_true(fake_count("guesses", 0) >= before + 400);
        if (samples && rank == 1) assert_true(fake_count("guesses", 0) == before);
        expect_same(a.expected, g, label);
        assert_true(stat_of(g, "proved") == 400);
        const int64_t filtered = filtered_of(g, 400);
        if (rank == 1 && !samples) assert_true(filtered < 200); /* the first of a quarter is seldom behind the fifth */
        if (rank == 1 && samples) assert_true(filtered == 400);
        if (rank >= 16) assert_true(filtered == 400);
        knng_graph_destroy(g);
        expect_failure_of(h, &a.q, 0, "fails_at_first_cutoffs=1", KNNG_ERR_DEVICE);
        devices_behave("");
        knng_destroy(h);
      }
  asked_free(&a);
}

/* A device that guesses beside one that does not: all begin again without guesses. */
static void all_guess_or_none(void** state) {
  (void)state;
  if (!fake_devices) skip();
  asked a;
  ask(&a, rows_normal(KNNG_F32, 400, 6, 332));
  static const char* const behaviours[] = {"0:guesses=1", "1:guesses=1"};
  for (int b = 0; b < 2; ++b) {
    knng* h = handle_for(&a.q, "cuda:0,1", "tiled", "auto", "0");
    devices_behave(behaviours[b]);
    const int64_t before = fake_count("guesses", 0);
    knng_graph* g = NULL;
    expect_ok(answer(h, &a.q, NULL, &g), behaviours[b]);
    assert_true(b == 0 ? fake_count("guesses", 0) > before
                       : fake_count("guesses", 0) == before); /* the first is asked */
    expect_same(a.expected, g, behaviours[b]);
    assert_true(filtered_of(g, 400) == 400); /* with guesses of rank 1 most would have no proof */
    knng_graph_destroy(g);
    devices_behave("");
    knng_destroy(h);
  }
  asked_free(&a);
}

/* Devices compare points in the first one's order, if it makes one: the graph is the same. */
static void orders_are_shared(void** state) {
  (void)state;
  if (!fake_devices) skip();
  asked a;
  ask(&a, rows_normal(KNNG_F32, 400, 6, 333));
  static const char* const sets[] = {"cuda:0", "cuda:2,0,1"};
  static const char* const behaviours[] = {"0:orders", "2:orders;0:guesses=16;1:guesses=16;2:guesses=16"};
  for (int set = 0; set < 2; ++set) {
    knng* h = handle_for(&a.q, sets[set], "tiled", "auto", set == 0 ? "0" : "32");
    const int64_t before = fake_count("orders", 0);
    devices_behave(behaviours[set]);
    expect_answer(h, &a.q, a.expected, &a.failure, sets[set]);
    assert_true(fake_count("orders", 0) >= before + (set == 0 ? 1 : 3));
    char failing[120];
    for (int device = 0; device < (set == 0 ? 1 : 3); ++device) {
      snprintf(failing, sizeof failing, "%s;%d:fails_at_order_points=1", behaviours[set], device);
      devices_behave(failing);
      knng_graph* g = NULL;
      EXPECT_ERROR(answer(h, &a.q, NULL, &g), KNNG_ERR_DEVICE, "injected failure");
      assert_null(g);
    }
    if (set == 1) { /* one that cannot take it: then none has it, or lists would not fit together */
      devices_behave("2:orders;1:keeps_order");
      const int64_t ordered = fake_count("orders", 0);
      expect_answer(h, &a.q, a.expected, &a.failure, "an order that is given up");
      assert_true(fake_count("orders", 0) > ordered);
    }
    devices_behave("1:orders"); /* is not asked */
    const int64_t made = fake_count("orders", 0);
    expect_answer(h, &a.q, a.expected, &a.failure, "no order");
    assert_true(fake_count("orders", 0) == made);
    devices_behave("");
    knng_destroy(h);
  }
  asked_free(&a);
}

/* The same where points come block by block; and stops between blocks, and rows that the metric refuses. */
static void blocks_that_fail(void** state) {
  (void)state;
  asked a;
  ask(&a, rows_positive(KNNG_F32, fake_devices && !injecting_faults ? 500 : 4000, 301,
                        323)); /* enough for some reports, one each ms */
  knng* h = handle_for(&a.q, fake_devices ? "cuda:2,0,1" : "cuda:0", "tiled", "auto", "0");
  give_least_memory(h, 0, a.q.k, 0);
  expect_answer(h, &a.q, a.expected, &a.failure, "blocks");
  if (fake_devices) {
    static const char* const calls[] = {"tile=2", "begin_keys=1", "keys=1", "keys=3", "refine=1"};
    for (int device = 0; device < 3; ++device)
      for (size_t c = 0; c < sizeof calls / sizeof *calls; ++c) {
        char call[32];
        snprintf(call, sizeof call, "fails_at_%s", calls[c]);
        expect_failure_of(h, &a.q, device, call, KNNG_ERR_DEVICE);
      }
    devices_behave("");
  }
  int stages = 0;
  assert_true(stop_at_every_report(h, &a, &stages) >= 3);
  knng_destroy(h);
  asked_free(&a);

  /* Two rows that hellinger refuses: the first is named, whichever block comes first. */
  test_rows rows = rows_positive(KNNG_F64, 500, 301, 324);
  ((double*)rows.data)[450 * 301 + 7] = ((double*)rows.data)[140 * 301 + 299] = -1;
  int hellinger = 0;
  while (strcmp(metric_cases[hellinger].metric, "hellinger") != 0) ++hellinger;
  const question q = question_of(&rows, &metric_cases[hellinger], 5);
  knng* refused = handle_for(&q, fake_devices ? "cuda:0,1" : "cuda:0", "tiled", "auto", "0");
  give_least_memory(refused, 0, q.k, 0);
  knng_graph* g = NULL;
  EXPECT_ERROR(answer(refused, &q, NULL, &g), KNNG_ERR_DATA, "140", "299");
  assert_null(g);
  knng_destroy(refused);
  rows_free(&rows);
}

static void a_bound_that_is_none_is_found_out(void** state) {
  (void)state;
  if (!fake_devices) skip();
  test_rows rows = rows_normal(KNNG_F32, 200, 6, 317);
  devices_behave("1:lies");
  for (const char* const* set = device_sets() + 2; *set; ++set) {
    knng* h = HANDLE(&rows, "device", *set, "engine", "tiled", "tile_rows", "16");
    knng_graph* g = NULL;
    knng_status status = KNNG_OK;
    /* Without a tile it cannot lie. */
    for (int tries = 0; tries < 20 && status == KNNG_OK; ++tries) {
      devices_behave("0:slow;1:lies;2:slow;3:slow");
      status = knng_build(h, 3, NULL, &g, NULL);
      if (status == KNNG_OK) knng_graph_destroy(g);
    }
    EXPECT_ERROR(status, KNNG_ERR_INTERNAL, "bounds");
    assert_null(g);
    knng_destroy(h);
  }
  rows_free(&rows);
}

int main(int argc, char** argv) {
  const int status = devices_start();
  if (status != 0) return status;
  if (argc > 1 && strcmp(argv[1], "--faults") == 0) { /* what needs injected faults alone */
    const struct CMUnitTest with_faults[] = {
        DEVICE_TEST(slow_devices_get_less),
        DEVICE_TEST(devices_that_answer_rows),
        DEVICE_TEST(full_devices_get_smaller_tiles_or_nothing),
        DEVICE_TEST(devices_that_fail),
        DEVICE_TEST(blocks_that_fail),
    };
    return cmocka_run_group_tests(with_faults, NULL, NULL);
  }
  const struct CMUnitTest tests[] = {
      DEVICE_TEST(stopped_at_every_report),
      DEVICE_TEST(slow_devices_get_less),
      DEVICE_TEST(tiles_end_soon),
      DEVICE_TEST(devices_that_answer_rows),
      DEVICE_TEST(full_devices_get_smaller_tiles_or_nothing),
      DEVICE_TEST(devices_that_fail),
      DEVICE_TEST(a_sample_picks_the_precision),
      DEVICE_TEST(guesses_are_proved),
      DEVICE_TEST(all_guess_or_none),
      DEVICE_TEST(orders_are_shared),
      DEVICE_TEST(blocks_that_fail),
      DEVICE_TEST(a_bound_that_is_none_is_found_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
