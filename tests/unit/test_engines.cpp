// engine=fused and engine=tiled with each of its selectors against engine=direct: ids, bits of values and ties are the
// same for every metric, element type, thread count and tile size, on data at which a bound could go wrong; and the
// fused engine's filter does leave pairs out.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/column_sample.h"
#include "core/dtype.h"
#include "exec/build.h"
#include "options/options.h"
#include "points.h"

#include "harness/cmocka.h"
#include "harness/small_run.h"

using namespace libknng;
using points::make_rows;
using points::Rows;

namespace {

using Set = std::vector<std::pair<const char*, std::string>>;

constexpr const char* kMetrics[] = {"sqeuclidean", "euclidean", "cosine",       "correlation",
                                    "spearman",    "hellinger", "inner_product"};
constexpr const char* kOtherMetrics[] = {"manhattan", "chebyshev",  "minkowski",
                                         "canberra",  "braycurtis", "jensenshannon"};  // not of products
constexpr const char* kSelectors[] = {"insertion", "batch_sort", "quick"};
// And what they hold well: normal values of this scale around this offset.
struct Type {
  std::int32_t dtype;
  double scale, offset;
};
constexpr Type kTypes[] = {{KNNG_F32, 1, 0},        {KNNG_F64, 1, 0},   {KNNG_F16, 1, 0},         {KNNG_BF16, 1, 0},
                           {KNNG_U8, 30, 128},      {KNNG_I8, 30, 0},   {KNNG_U16, 9000, 32768},  {KNNG_I16, 9000, 0},
                           {KNNG_U32, 6e8, 0x1p31}, {KNNG_I32, 6e8, 0}, {KNNG_U64, 1e15, 0x1p52}, {KNNG_I64, 1e15, 0},
                           {KNNG_BOOL, 1, 0.5}};

struct TileSize {
  const char *rows, *columns;  // 0: planned
};
constexpr TileSize kTiles[] = {{"0", "0"}, {"48", "48"}, {"96", "144"}, {"50", "37"}, {"1000", "1000"}};

struct Queries {
  const Dataset* rows = nullptr;
  const std::int64_t* leave_out = nullptr;
};

Graph graph_of(const Dataset& data, std::int64_t k, const Queries& queries, const Set& set) {
  Settings settings;
  settings.set("value_type", "f64");
  for (const auto& [key, value] : set) settings.set(key, value);
  points::Call call;
  return queries.rows ? query_graph(data, settings, *queries.rows, queries.leave_out, k, call.monitor)
                      : build_graph(data, settings, k, call.monitor);
}

void assert_same(const Graph& graph, const Graph& direct, const std::string& label) {
  const auto same = [](const auto& a, const auto& b) {
    return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
  };
  const bool equal = same(graph.ids, direct.ids) && same(graph.values, direct.values) && same(graph.ties, direct.ties);
  if (!equal) {
    std::int64_t entry = 0;
    while (entry < graph.entries() && graph.ids[entry] == direct.ids[entry] &&
           graph.value(entry) == direct.value(entry))
      ++entry;
    print_error("%s: entry %lld of width %lld differs\n", label.c_str(), static_cast<long long>(entry),
                static_cast<long long>(graph.width));
  }
  assert_true(equal);
}

// Share of the pairs that the filter left out.
double left_out(const Graph& g) { return 1 - g.stats[Stat::keys] / g.stats[Stat::pairs]; }

double last_redone = 0;  // rows that check()'s fused graph had to redo

struct Case {
  const char* metric;
  std::int32_t dtype;
  std::int64_t k;
  TileSize tile;
  const char* threads;
};

bool of_products(const char* metric) {
  return std::any_of(std::begin(kMetrics), std::end(kMetrics),
                     [&](const char* m) { return std::strcmp(m, metric) == 0; });
}

// All engines, in a small run with one of the selectors in turn; returns the fused graph's share of pairs left out.
double check(const Rows& rows, const Case& c, const Queries& queries = {}, Set set = {}) {
  const std::string label = std::string(rows.name) + ", metric=" + c.metric + ", " + dtype_name(c.dtype) +
                            ", k=" + std::to_string(c.k) + ", threads=" + c.threads + ", tile " + c.tile.rows + " x " +
                            c.tile.columns;
  const Dataset data = points::stored(c.dtype, rows);
  set.insert(set.end(), {{"metric", c.metric}, {"threads", c.threads}});
  const auto run = [&](const char* engine, const char* selector) {
    Set all = set;
    all.insert(all.end(), {{"engine", engine}, {"selector", selector}});
    if (std::strcmp(engine, "direct") != 0)
      all.insert(all.end(), {{"tile_rows", c.tile.rows}, {"tile_cols", c.tile.columns}});
    Graph graph = graph_of(data, c.k, queries, all);
    assert_string_equal(graph.text.engine.c_str(), engine);
    assert_string_equal(graph.text.selector.c_str(), std::strcmp(engine, "tiled") == 0 ? selector : "none");
    return graph;
  };
  double share = 0;
  std::string failure;
  try {
    const Graph expected = run("direct", "auto");
    if (of_products(c.metric)) {
      const Graph graph = run("fused", "auto");
      assert_same(graph, expected, "fused, " + label);
      share = left_out(graph);
      last_redone = graph.stats[Stat::redone_fp64];
    }
    static int turn = 0;
    for (const char* selector : kSelectors) {
      if (!tried(turn++, 3)) continue;
      assert_same(run("tiled", selector), expected, std::string(selector) + ", " + label);
    }
  } catch (const std::exception& e) {
    failure = e.what();
  }
  if (!failure.empty()) print_error("%s: %s\n", label.c_str(), failure.c_str());
  assert_true(failure.empty());
  return share;
}

bool takes_negative(const char* metric) {
  return std::strcmp(metric, "hellinger") != 0 && std::strcmp(metric, "jensenshannon") != 0;
}
Rows fit_for(const char* metric, Rows rows) {
  if (!takes_negative(metric))
    for (double& value : rows.values) value = std::fabs(value);
  return rows;
}

Rows gaussian(const char* name, std::int64_t n, std::int64_t d, double scale, double offset, std::uint64_t seed = 1) {
  values::Random random(seed);
  return make_rows(name, n, d, [&](std::int64_t, std::int64_t) { return offset + scale * points::normal(random); });
}

// ---- tests

// All metrics, types, tiles and threads, on data without structure.
void every_metric_type_tile_and_thread_count(void**) {
  int turn = 0;
  for (const char* metric : kMetrics) {
    for (const auto& [dtype, scale, offset] : kTypes) {
      const Rows rows = fit_for(metric, gaussian("gaussian", 400, 24, scale, offset));
      for (const TileSize& tile : kTiles) {
        const char* threads[] = {"1", "2", "4"};
        const std::int64_t ks[] = {1, 10, 100};
        if (!tried(turn++, 8)) continue;
        const double share = check(rows, {metric, dtype, ks[turn % 3], tile, threads[turn / 3 % 3]});
        if (ks[turn % 3] == 1 && std::strcmp(tile.rows, "48") == 0) assert_true(share > 0.1);
      }
    }
  }
}

// Metrics whose tiles hold canonical keys.
void metrics_without_products(void**) {
  int turn = 0;
  for (const char* metric : kOtherMetrics) {
    for (const auto& [dtype, scale, offset] : kTypes) {
      const Rows rows = fit_for(metric, gaussian("gaussian", 200, 12, scale, offset));
      const char* threads[] = {"1", "2", "4"};
      const std::int64_t ks[] = {1, 10, 100};
      for (const TileSize& tile : kTiles) {
        if (!tried(turn++, 8)) continue;
        check(rows, {metric, dtype, ks[turn % 3], tile, threads[turn / 3 % 3]});
      }
    }
    values::Random random(31);
    const Rows grid =
        make_rows("grid", 290, 3, [&](std::int64_t, std::int64_t) { return double(1 + random.below(3)); });
    for (const std::int64_t k : {1, 10, 289}) check(grid, {metric, KNNG_F32, k, kTiles[++turn % 5], "2"});
    const Rows rows = fit_for(metric, gaussian("query", 300, 8, 1, 0));
    const Dataset queries = points::stored(KNNG_F64, fit_for(metric, gaussian("query", 70, 8, 2, 0, 2)));
    std::vector<std::int64_t> leave_out;
    for (std::int64_t i = 0; i < 70; ++i) leave_out.push_back(i % 4 == 3 ? -1 : random.below(300));
    check(rows, {metric, KNNG_F64, 10, kTiles[++turn % 5], "2"}, {&queries, leave_out.data()});
    check(rows, {metric, KNNG_F64, 5, kTiles[++turn % 5], "1"}, {}, {{"self", "first"}});
  }
}

// Where it is meant for, the filter leaves almost everything out.
void the_filter_leaves_out_what_is_far(void**) {
  const std::int64_t n = small_run() ? 800 : 1500;
  const Rows rows = gaussian("gaussian", n, 32, 1, 0);
  int turn = 0;
  for (const char* metric : kMetrics) {
    const Rows fit = fit_for(metric, rows);
    for (const char* threads : {"1", "2"}) {
      if (!tried(turn++, 2)) continue;
      const double share = check(fit, {metric, KNNG_F32, 5, {"48", "144"}, threads});
      print_message("%s, %s threads: %.1f %% left out\n", metric, threads, 100 * share);
      assert_true(share > 0.5);
    }
  }
  assert_true(check(gaussian("bytes", n, 32, 30, 128), {"euclidean", KNNG_U8, 5, {"48", "144"}, "1"}) > 0.5);
  assert_true(check(gaussian("bytes", n, 32, 30, 0), {"inner_product", KNNG_I8, 5, {"48", "144"}, "1"}) > 0.5);
}

// Columns of the sample are near each other and far from all others: what is guessed from them is too low for their
// lists, which are redone.
void guesses_that_are_too_low_are_redone(void**) {
  const std::int64_t n = small_run() ? 800 : 1500, d = 6;
  const std::vector<std::int64_t> nothing(static_cast<std::size_t>(n), 0);
  const ColumnSample sample(n, 1, nothing.data(), nothing.data(), nullptr);
  assert_true(sample.size() >= 32);
  for (std::int64_t s = 1; s < sample.size(); ++s) assert_true(sample.id(s) > sample.id(s - 1));
  assert_true(sample.id(0) >= 0 && sample.id(sample.size() - 1) < n);
  Rows rows = gaussian("a near sample", n, d, 100, 0);
  values::Random random(5);
  for (std::int64_t s = 0; s < sample.size(); ++s)
    for (std::int64_t t = 0; t < d; ++t) rows(sample.id(s), t) = 1000 + 0.1 * double(t) + points::normal(random);
  std::vector<std::int64_t> leave_out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) leave_out[static_cast<std::size_t>(i)] = i % 3 == 0 ? -1 : (i + 1) % n;
  int turn = 0;
  for (const char* metric : kMetrics) {
    const Rows fit = fit_for(metric, rows);
    const Dataset queries = points::stored(KNNG_F64, fit);
    for (const std::int64_t k : {10, 30})
      for (const char* threads : {"1", "4"}) {
        if (!tried(turn++, 4)) continue;
        const bool apart = std::strcmp(metric, "euclidean") == 0 || std::strcmp(metric, "sqeuclidean") == 0;
        check(fit, {metric, KNNG_F32, k, {"48", "96"}, threads});
        if (apart) assert_true(last_redone >= 32);
        check(fit, {metric, KNNG_F64, k, {"48", "96"}, threads}, {&queries, leave_out.data()});
      }
  }
}

std::vector<Rows> structured_rows() {
  values::Random random(11);
  std::vector<Rows> all;
  all.push_back(make_rows("grid", 330, 3, [&](std::int64_t, std::int64_t) { return double(random.below(3)); }));
  all.push_back(make_rows("fine grid", 330, 4, [&](std::int64_t, std::int64_t) { return double(random.below(16)); }));
  const Rows centres = gaussian("", 100, 16, 10, 0);
  all.push_back(make_rows("100 tight blobs", 600, 16, [&](std::int64_t i, std::int64_t t) {
    return centres.values[static_cast<std::size_t>(i % 100 * 16 + t)] + 1e-3 * points::normal(random);
  }));
  all.push_back(make_rows("zero rows", 400, 10,
                          [&](std::int64_t i, std::int64_t) { return i % 10 == 4 ? 0.0 : points::normal(random); }));
  all.push_back(make_rows("constant rows", 400, 10, [&](std::int64_t i, std::int64_t) {
    return i % 9 == 4 ? 0.1 * double(i) : points::normal(random);
  }));
  Rows twice = gaussian("duplicates", 300, 12, 1, 0);
  for (std::int64_t i = 100; i < 300; ++i)
    for (std::int64_t t = 0; t < 12; ++t) twice(i, t) = twice(i % 100, t);
  all.push_back(twice);
  all.push_back(make_rows("all equal", 300, 6, [](std::int64_t, std::int64_t t) { return 0.1 * double(t + 1); }));
  all.push_back(gaussian("offset 1e6", 400, 16, 1, 1e6));
  all.push_back(make_rows("one far outlier", 400, 16,
                          [&](std::int64_t i, std::int64_t) { return i == 77 ? 1e9 : points::normal(random); }));
  all.push_back(make_rows(
      "sorted", 500, 8, [&](std::int64_t i, std::int64_t) { return double(i) / 50 + 0.01 * points::normal(random); }));
  all.push_back(make_rows("one dimension", 500, 1, [&](std::int64_t, std::int64_t) { return points::normal(random); }));
  for (const std::int64_t d : {2, 16, 40, 500}) {
    all.push_back(points::swallowed(150, d, 5));
    all.push_back(points::vanishing(150, d, 5));
  }
  all.push_back(points::rounded_away(200, 1, true));
  all.push_back(points::rounded_away(200, 1, false));
  return all;
}

void structured_data(void**) {
  int turn = 0;
  for (const Rows& raw : structured_rows()) {
    for (const char* metric : kMetrics) {
      const Rows rows = fit_for(metric, raw);
      for (const std::int64_t k : {1, 10, 100}) {
        const TileSize tile = kTiles[turn % 5];
        if (!tried(turn++, 6)) continue;
        check(rows, {metric, turn % 2 == 0 ? KNNG_F64 : KNNG_F32, k, tile, turn % 3 == 0 ? "2" : "1"});
      }
    }
  }
}

// Integer grids in every type: keys tie all the time, and 8-bit integers go through byte products.
void ties_in_every_type(void**) {
  values::Random random(17);
  const Rows grid = make_rows("grid", 290, 5, [&](std::int64_t, std::int64_t) { return double(random.below(4)); });
  const Rows extreme = make_rows("ends of the range", 290, 7,
                                 [&](std::int64_t, std::int64_t) { return random.below(2) == 0 ? -128.0 : 127.0; });
  int turn = 0;
  for (const char* metric : kMetrics)
    for (const std::int32_t dtype : row_dtypes)
      for (const Rows* rows : {&grid, &extreme})
        for (const std::int64_t k : {1, 10}) {
          if (!tried(turn++, 4)) continue;
          check(fit_for(metric, *rows), {metric, dtype, k, kTiles[turn % 5], turn % 5 == 0 ? "2" : "1"});
        }
}

// The scales that a type takes. For inner products near 1e-160 the keys themselves are rounded to denormals.
void every_scale(void**) {
  int turn = 0;
  const auto check_in_turn = [&](const Rows& rows, const char* metric, std::int32_t dtype) {
    if (tried(turn++, 2)) check(fit_for(metric, rows), {metric, dtype, 7, {"48", "48"}, "1"});
  };
  const std::int64_t n = small_run() ? 150 : 300;
  for (const double scale : {1e-310, 1e-200, 0x1p-537, 1e-160, 1e-150, 1e-30, 1e30, 1e150}) {
    const Rows rows = gaussian("scaled", n, 9, scale, 0);
    for (const char* metric : kMetrics) check_in_turn(rows, metric, KNNG_F64);
  }
  for (const double scale : {1e-42, 1e-30, 1e-20, 1e15}) {
    const Rows rows = gaussian("scaled", n, 9, scale, 0);
    for (const char* metric : kMetrics)
      for (const std::int32_t dtype : {KNNG_F32, KNNG_BF16}) check_in_turn(rows, metric, dtype);
  }
  values::Random random(23);
  const Rows nasty = make_rows("nasty", n, 4, [&](std::int64_t, std::int64_t) { return values::nasty(random, 1e150); });
  const Rows mixed = make_rows("small among large", n, 6, [&](std::int64_t i, std::int64_t) {
    return std::ldexp(points::normal(random), i % 50 == 0 ? 400 : -100);
  });
  for (const char* metric : kMetrics)
    for (const Rows* rows : {&nasty, &mixed}) check_in_turn(*rows, metric, KNNG_F64);
}

// Numbers of points around the panels of 48, and dimensions around vectors.
void every_edge(void**) {
  int turn = 0;
  for (const std::int64_t n : {2, 3, 47, 48, 49, 95, 96, 97, 143, 144, 145, 193})
    for (const TileSize& tile : kTiles)
      check(gaussian("edge", n, 5, 1, 0),
            {++turn % 2 == 0 ? "euclidean" : "inner_product", kTypes[turn % std::size(kTypes)].dtype,
             1 + turn % std::min<std::int64_t>(n - 1, 3), tile, "1"});
  for (const std::int64_t d : {1, 2, 3, 4, 5, 31, 32, 33, 63, 65, 129})
    for (const std::int32_t dtype : {KNNG_F32, KNNG_U8, KNNG_I8})
      check(gaussian("edge", 200, d, 30, 0), {"euclidean", dtype, 3, {"48", "48"}, "1"});
  // Tiles larger than the data, and the widest that the setting takes in one direction.
  check(gaussian("edge", 500, 3, 1, 0), {"euclidean", KNNG_F32, 3, {"600", "50"}, "1"});
  check(gaussian("edge", 500, 3, 1, 0), {"euclidean", KNNG_F32, 3, {"50", "1048576"}, "1"});
  check(gaussian("edge", 700, 3, 1, 0), {"euclidean", KNNG_F32, 3, {"7", "700"}, "1"});
  check(gaussian("edge", 700, 3, 1, 0), {"euclidean", KNNG_F32, 3, {"701", "11"}, "1"});
}

void queries_and_self(void**) {
  values::Random random(29);
  int turn = 0, way = 0;
  for (const char* metric : kMetrics) {
    for (const std::int32_t dtype : {KNNG_F32, KNNG_F64, KNNG_U8, KNNG_I8}) {
      const bool small = dtype == KNNG_U8 || dtype == KNNG_I8;
      Rows rows = fit_for(metric, gaussian("query", 500, 8, small ? 30 : 1, dtype == KNNG_U8 ? 128 : 0));
      Rows asked = fit_for(metric, gaussian("query", 130, 8, small ? 30 : 2, dtype == KNNG_U8 ? 128 : 0, 2));
      for (std::int64_t t = 0; t < 8; ++t) {
        for (std::int64_t i = 3; i < 500; i += 20) rows(i, t) = 1;  // constant, zero, and equal to a query
        for (std::int64_t i = 5; i < 500; i += 20) rows(i, t) = 0;
        for (std::int64_t i = 0; i < 130; i += 13) asked(i, t) = i % 2 == 0 ? 0 : 1;
        for (std::int64_t i = 1; i < 130; i += 13) asked(i, t) = rows(i, t);
      }
      std::vector<std::int64_t> leave_out;
      for (std::int64_t i = 0; i < asked.n; ++i)
        leave_out.push_back(i % 4 == 3 ? -1 : i % 13 < 2 ? i : random.below(500));
      const Dataset queries = points::stored(dtype, asked);
      const Dataset others = points::stored(KNNG_F64, asked);  // another type than the rows, as a rule
      const TileSize tile = kTiles[++turn % 5];
      if (tried(way++, 5)) check(rows, {metric, dtype, 10, tile, "1"}, {&queries, nullptr});
      if (tried(way++, 5)) check(rows, {metric, dtype, 1, tile, "2"}, {&queries, leave_out.data()});
      if (tried(way++, 5)) check(rows, {metric, dtype, 30, tile, "1"}, {&others, leave_out.data()});
      if (tried(way++, 5)) check(rows, {metric, dtype, 10, tile, "1"}, {}, {{"self", "first"}});
      if (tried(way++, 5) && takes_negative(metric) && std::strstr(metric, "euclid") == nullptr)
        check(rows, {metric, dtype, 10, tile, "1"}, {}, {{"value", "similarity"}});
    }
  }
}

// The scale of the operands has to serve both sides.
void queries_of_another_scale(void**) {
  for (const double scale : {1e-60, 1e-6, 1e6, 1e60}) {
    const Dataset queries = points::stored(KNNG_F64, gaussian("", 60, 6, scale, 0, 3));
    for (const char* metric : {"euclidean", "cosine", "inner_product"})
      check(gaussian("queries of another scale", 300, 6, 1, 0), {metric, KNNG_F64, 3, {"48", "48"}, "1"},
            {&queries, nullptr});
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_metric_type_tile_and_thread_count),
      cmocka_unit_test(metrics_without_products),
      cmocka_unit_test(the_filter_leaves_out_what_is_far),
      cmocka_unit_test(guesses_that_are_too_low_are_redone),
      cmocka_unit_test(structured_data),
      cmocka_unit_test(ties_in_every_type),
      cmocka_unit_test(every_scale),
      cmocka_unit_test(every_edge),
      cmocka_unit_test(queries_and_self),
      cmocka_unit_test(queries_of_another_scale),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
