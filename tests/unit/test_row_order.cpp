// The random order of rows: a permutation of runs, the same everywhere; and what the tiled engine gains by it. Rows
// that come in an order that hurts cost what the same runs of rows cost in a random order, in builds and queries, and
// would not without it; what is said about a row names it by its id.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "backend/cpu/engine.h"
#include "core/error.h"
#include "exec/build.h"
#include "options/options.h"
#include "points.h"
#include "prepare/row_order.h"

#include "harness/cmocka.h"
#include "harness/small_run.h"

using namespace libknng;
using points::make_rows;
using points::Rows;

namespace {

constexpr std::int64_t kRun = RowOrder::kRun;

std::vector<std::int64_t> ids_of(const RowOrder& order, std::int64_t rows) {
  std::vector<std::int64_t> ids;
  for (std::int64_t p = 0; p < rows; ++p) ids.push_back(order.id(p));
  return ids;
}

// ---- the permutation

void every_row_has_one_position(void**) {
  for (const std::int64_t n : {0, 1, 15, 16, 31, 32, 33, 1000, 65'537}) {
    Budget budget;
    const RowOrder order(n, &budget);
    assert_int_equal(budget.held(), RowOrder::bytes(n));
    std::vector<std::int64_t> ids = ids_of(order, n);
    std::sort(ids.begin(), ids.end());
    for (std::int64_t i = 0; i < n; ++i) assert_int_equal(ids[static_cast<std::size_t>(i)], i);
  }
  assert_int_equal(RowOrder().id(12'345), 12'345);
  assert_int_equal(RowOrder(0, nullptr).id(0), 0);
}

// Which run comes where, of whole runs; rows stand in them as they came, and past the last of them.
std::vector<std::int64_t> runs_of(const RowOrder& order, std::int64_t runs) {
  std::vector<std::int64_t> places;
  for (std::int64_t r = 0; r < runs; ++r) {
    const std::int64_t first = order.id(r * kRun);
    assert_int_equal(first % kRun, 0);
    for (std::int64_t i = 1; i < kRun; ++i) assert_int_equal(order.id(r * kRun + i), first + i);
    places.push_back(first / kRun);
  }
  return places;
}

// Computed apart, from the definitions, with Python's integers.
void the_order_is_the_same_everywhere(void**) {
  const auto begins = [](std::int64_t runs, const std::vector<std::int64_t>& places) {
    return runs_of(RowOrder(runs * kRun + 10, nullptr), std::ssize(places)) == places;
  };
  assert_true(begins(4, {3, 1, 0, 2}));
  assert_true(begins(10, {9, 1, 5, 4, 8, 0, 2, 7, 6, 3}));
  assert_true(begins(1'000'000, {474'264, 902'634, 402'117, 474'639}));
}

// Of a random permutation the correlation of positions and ids has mean 0 and variance 1 / (n - 1), and runs that stay
// behind the same run are Poisson with mean 1: six standard deviations, and 12 (one in 10^9).
void the_order_looks_random(void**) {
  for (const std::int64_t n : {100, 10'000, 100'000}) {
    const std::vector<std::int64_t> ids = runs_of(RowOrder(n * kRun, nullptr), n);
    const double middle = static_cast<double>(n - 1) / 2;
    double product = 0, square = 0;
    std::int64_t together = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      const auto at = static_cast<std::size_t>(p);
      product += (static_cast<double>(p) - middle) * (static_cast<double>(ids[at]) - middle);
      square += (static_cast<double>(p) - middle) * (static_cast<double>(p) - middle);
      together += p > 0 && ids[at] == ids[at - 1] + 1;
    }
    assert_true(std::fabs(product / square) < 6 / std::sqrt(static_cast<double>(n - 1)));
    assert_in_range(together, 0, 12);
  }
}

// ---- what the tiled engine does with it

constexpr const char* kSelectors[] = {"insertion", "batch_sort", "quick"};
constexpr std::int64_t kTile = 96, kNeighbours = 10;

Graph graph_of(const Rows& rows, const Rows* queries, const char* selector, std::int64_t k = kNeighbours) {
  const Dataset data = points::stored(KNNG_F32, rows);
  Settings settings;
  settings.set("engine", "tiled");
  settings.set("selector", selector);
  settings.set("threads", "1");
  settings.set("tile_rows", std::to_string(kTile));
  settings.set("tile_cols", std::to_string(kTile));
  points::Call call;
  if (!queries) return build_graph(data, settings, k, call.monitor);
  return query_graph(data, settings, points::stored(KNNG_F32, *queries), nullptr, k, call.monitor);
}

double keys_of(const Rows& rows, const Rows* queries, const char* selector) {
  return graph_of(rows, queries, selector).stats[Stat::keys];
}

// The same without an order.
double keys_as_they_come(const Rows& rows, const Rows* queries, const char* selector) {
  const Dataset data = points::stored(KNNG_F32, rows), asked = points::stored(KNNG_F32, queries ? *queries : rows);
  const Metric metric = find_metric("euclidean", 2);
  const auto tiled = std::find_if(cpu_engines().begin(), cpu_engines().end(),
                                  [](const CpuEngine& engine) { return std::strcmp(engine.name, "tiled") == 0; });
  points::Call call;
  const CanonicalRows columns(data, metric, call.team, nullptr, call.monitor, "rows");
  const CanonicalRows others(asked, metric, call.team, nullptr, call.monitor, "q");
  NeighbourLists lists(asked.rows(), kNeighbours, nullptr);
  const CpuProblem problem = {queries ? others : columns,
                              columns,
                              metric,
                              {asked.rows(), data.rows(), kTile, kTile, queries == nullptr},
                              call.team,
                              {.square = queries == nullptr},
                              find_selector(selector)};
  return static_cast<double>(tiled->run(problem, lists, nullptr, call.monitor).keys);
}

Rows in_order(const Rows& rows, const std::vector<std::int64_t>& ids) {
  return make_rows(rows.name, rows.n, rows.d, [&](std::int64_t i, std::int64_t t) {
    return rows.values[static_cast<std::size_t>(ids[static_cast<std::size_t>(i)] * rows.d + t)];
  });
}

Rows farthest_first(const Rows& rows) {
  std::vector<double> norms(static_cast<std::size_t>(rows.n));
  for (std::size_t i = 0; i < norms.size(); ++i)
    for (std::int64_t t = 0; t < rows.d; ++t)
      norms[i] += rows.values[i * static_cast<std::size_t>(rows.d) + static_cast<std::size_t>(t)] *
                  rows.values[i * static_cast<std::size_t>(rows.d) + static_cast<std::size_t>(t)];
  std::vector<std::int64_t> ids(norms.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) {
    return norms[static_cast<std::size_t>(a)] > norms[static_cast<std::size_t>(b)];
  });
  return in_order(rows, ids);
}

// The keys evaluated for rows in an order that hurts are what they are for the same runs in a random order. The order
// being fixed, that is one more draw from the distribution of which `kOrders` draws are at hand: were it normal,
// Student's t of 19 degrees of freedom, which is beyond 5 once in 12,000. least: how many times as many keys it would
// be without the engine's own order, or the rows hurt nobody.
void assert_order_does_not_matter(const Rows& hurting, const Rows* queries, double least) {
  constexpr int kOrders = 20;
  for (const char* selector : kSelectors) {
    if (small_run() && selector != kSelectors[2]) continue;
    values::Random random(3);
    const std::int64_t runs = hurting.n / kRun;
    assert_int_equal(hurting.n % kRun, 0);
    std::vector<std::int64_t> order(static_cast<std::size_t>(runs)), ids(static_cast<std::size_t>(hurting.n));
    std::iota(order.begin(), order.end(), 0);
    double sum = 0, squares = 0;
    for (int o = 0; o < kOrders; ++o) {
      for (std::int64_t left = runs; left > 1; --left)
        std::swap(order[static_cast<std::size_t>(left - 1)], order[static_cast<std::size_t>(random.below(left))]);
      for (std::int64_t i = 0; i < hurting.n; ++i)
        ids[static_cast<std::size_t>(i)] = order[static_cast<std::size_t>(i / kRun)] * kRun + i % kRun;
      const double keys = keys_of(in_order(hurting, ids), queries, selector);
      sum += keys;
      squares += keys * keys;
    }
    const double mean = sum / kOrders, deviation = std::sqrt((squares - sum * mean) / (kOrders - 1));
    const double keys = keys_of(hurting, queries, selector), unshuffled = keys_as_they_come(hurting, queries, selector);
    print_message("%s, %s: %.0f keys, in random orders %.0f +- %.0f, as they come %.0f\n", hurting.name, selector, keys,
                  mean, deviation, unshuffled);
    assert_true(deviation > 0);
    assert_true(std::fabs(keys - mean) < 5 * deviation * std::sqrt(1 + 1.0 / kOrders));
    assert_true(unshuffled > least * mean);
  }
}

Rows gaussian(const char* name, std::int64_t n, std::int64_t d, std::uint64_t seed) {
  values::Random random(seed);
  return make_rows(name, n, d, [&](std::int64_t, std::int64_t) { return points::normal(random); });
}

// In many dimensions directions are almost at right angles: row i is the nearer to all rows the shorter it is.
Rows nearer_and_nearer(std::int64_t n) {
  constexpr std::int64_t kDim = 200;
  Rows rows = gaussian("nearer and nearer", n, kDim, 4);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t t = 0; t < kDim; ++t) rows(i, t) *= 2 - static_cast<double>(i) / static_cast<double>(n);
  return rows;
}

void builds_do_not_depend_on_the_order(void**) {
  assert_order_does_not_matter(farthest_first(gaussian("farthest first", 3072, 16, 1)), nullptr, 1.5);
  if (!small_run()) assert_order_does_not_matter(nearer_and_nearer(1920), nullptr, 2);
}

void queries_do_not_depend_on_the_order(void**) {
  const Rows few = gaussian("", 150, 16, 2), middle = gaussian("", 150, 200, 5);
  if (!small_run()) assert_order_does_not_matter(farthest_first(gaussian("farthest first", 3072, 16, 1)), &few, 1.5);
  assert_order_does_not_matter(nearer_and_nearer(1920), &middle, 2);
}

// Distinct rows have an order of their own: each row twice costs what each once does, for one neighbour more.
void distinct_rows_are_shuffled(void**) {
  const Rows once = nearer_and_nearer(600);
  const Rows twice = make_rows("twice", 1200, once.d, [&](std::int64_t i, std::int64_t t) {
    return once.values[static_cast<std::size_t>(i / 2 * once.d + t)];
  });
  const Graph all = graph_of(twice, nullptr, "quick");
  assert_true(all.stats[Stat::duplicates] == 600);
  assert_true(all.stats[Stat::keys] == graph_of(once, nullptr, "quick", kNeighbours + 1).stats[Stat::keys]);
}

// ---- messages

// The error of a build of these rows with engine=tiled.
knng_error error_of(std::int32_t dtype, const Rows& rows, const char* metric, const char* value_type) {
  const Dataset data = points::stored(dtype, rows);
  Settings settings;
  settings.set("engine", "tiled");
  settings.set("metric", metric);
  settings.set("value_type", value_type);
  settings.set("threads", "2");
  points::Call call;
  try {
    build_graph(data, settings, 1, call.monitor);
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}

void the_first_row_at_fault_is_named(void**) {
  const auto at = [](std::int64_t i, double there) { return i == 40 || i == 7 || i == 111 ? there : 1.0; };
  Rows rows = make_rows("negative", 200, 3, [&](std::int64_t i, std::int64_t) { return at(i, -1); });
  knng_error error = error_of(KNNG_F32, rows, "hellinger", "auto");
  assert_int_equal(error.code, KNNG_ERR_DATA);
  assert_int_equal(error.row, 7);
  // Each alone, and farther from all others than fp32 reaches.
  rows = make_rows("far", 200, 3, [&](std::int64_t i, std::int64_t) { return at(i, double(i) * 1e60) + double(i); });
  error = error_of(KNNG_F64, rows, "euclidean", "f32");
  assert_int_equal(error.code, KNNG_ERR_RANGE);
  assert_int_equal(error.row, 7);
  assert_non_null(std::strstr(error.message, "1.21244e+61"));  // 7e60 sqrt(3), of its own list
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_row_has_one_position),
      cmocka_unit_test(the_order_is_the_same_everywhere),
      cmocka_unit_test(the_order_looks_random),
      cmocka_unit_test(builds_do_not_depend_on_the_order),
      cmocka_unit_test(queries_do_not_depend_on_the_order),
      cmocka_unit_test(distinct_rows_are_shuffled),
      cmocka_unit_test(the_first_row_at_fault_is_named),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
