// Drivers of build, query and check on whole data sets: the same graph whatever the tiles, threads, engine and budget,
// equal to plain evaluation; memory as planned. Data sets in every type and at every size: tests/api.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/float_env.h"
#include "core/host_memory.h"
#include "core/monitor.h"
#include "exec/build.h"
#include "exec/check.h"
#include "exec/rows/file_rows.h"
#include "exec/rows/host_copy.h"
#include "exec/task.h"
#include "metric/canonical.h"
#include "values.h"

#include "harness/cmocka.h"
#include "harness/small_run.h"

using namespace libknng;
using values::bits;

namespace {

using Texts = std::vector<std::pair<const char*, std::string>>;

Settings with(const Texts& texts) {
  Settings settings;
  for (const auto& [key, value] : texts) settings.set(key, value);
  return settings;
}

// Rows in the test's memory, shown to a data set.
template <class T>
struct Rows {
  Rows(std::int32_t dtype_of_t, std::int64_t n, std::int64_t d) : dtype(dtype_of_t), rows(n), dim(d) {}
  Dataset dataset() const {
    Dataset data;
    data.borrow({dtype, rows, dim, dim, 1, reinterpret_cast<const std::byte*>(flat.data())}, {}, kNoByteType, nullptr,
                nullptr);
    return data;
  }
  std::int32_t dtype;
  std::int64_t rows, dim;
  std::vector<T> flat;
};

enum class Kind { uniform, grid, blobs };

Rows<float> make_rows(Kind kind, std::int64_t n, std::int64_t d, bool with_zeros, std::uint64_t seed) {
  values::Random random(seed);
  Rows<float> rows(KNNG_F32, n, d);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t t = 0; t < d; ++t) {
      double x = std::fabs(random.uniform());
      if (kind == Kind::grid) x = static_cast<double>(random.below(3));  // ties and duplicates everywhere
      if (kind == Kind::blobs) x = static_cast<double>(i * 7 % 13) + 1e-3 * x;
      if (with_zeros && i % 10 == 3) x = 0;
      rows.flat.push_back(static_cast<float>(x));
    }
  return rows;
}

template <class F>
auto monitored(F&& f) {
  const FloatEnv env;
  Monitor monitor({sizeof(knng_control), 0, nullptr, nullptr, nullptr, nullptr, 0}, env);
  return f(monitor);
}

Graph build(const Dataset& data, const Settings& settings, std::int64_t k) {
  return monitored([&](Monitor& monitor) { return build_graph(data, settings, k, monitor); });
}
Graph query(const Dataset& data, const Settings& settings, const Dataset& queries, const std::int64_t* leave_out,
            std::int64_t k) {
  return monitored([&](Monitor& monitor) { return query_graph(data, settings, queries, leave_out, k, monitor); });
}
std::int64_t check(const Dataset& data, const Settings& settings, const Graph& graph, std::int64_t sample = 0) {
  return monitored([&](Monitor& monitor) { return check_graph(data, settings, graph, sample, monitor); });
}

template <class F>
knng_error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}

bool same(const Graph& a, const Graph& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return x.bytes() == y.bytes() && std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0;
  };
  return a.rows == b.rows && a.width == b.width && equal(a.ids, b.ids) && equal(a.values, b.values) &&
         equal(a.ties, b.ties);
}

// A list by the definition: canonical_key() for every column, all sorted.
struct List {
  std::vector<std::pair<double, std::int64_t>> pairs;
  bool tied = false;
};

std::vector<std::vector<double>> transformed(const Metric& metric, const Dataset& data,
                                             std::vector<bool>& directionless) {
  std::vector<std::vector<double>> all;
  for (std::int64_t i = 0; i < data.rows(); ++i) {
    std::vector<double> x(static_cast<std::size_t>(data.dim()));
    data.load(i, x.data());
    directionless.push_back(has_no_direction(metric.transform, x));
    if (metric.transform == Transform::rank_unit) {
      std::vector<std::int32_t> order(x.size()), ranks(x.size());
      centred_ranks(x, order, ranks);
      std::copy(ranks.begin(), ranks.end(), x.begin());
    }
    apply_transform(metric.transform, row_constants(metric.transform, x), x);
    all.push_back(std::move(x));
  }
  return all;
}

std::vector<List> plain_lists(const Metric& metric, const Dataset& rows, const Dataset& columns, bool square,
                              const std::int64_t* leave_out, std::int64_t k) {
  std::vector<bool> row_flags, column_flags;
  const auto u = transformed(metric, rows, row_flags), v = transformed(metric, columns, column_flags);
  std::vector<List> lists(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    auto& pairs = lists[i].pairs;
    for (std::size_t j = 0; j < v.size(); ++j) {
      const auto id = static_cast<std::int64_t>(j);
      if ((square && i == j) || (leave_out && leave_out[i] == id)) continue;
      pairs.emplace_back(row_flags[i] || column_flags[j] ? kNoDirectionKey : canonical_key(metric, u[i], v[j]), id);
    }
    std::sort(pairs.begin(), pairs.end());
    const auto size = static_cast<std::size_t>(k);
    lists[i].tied = pairs.size() > size && pairs[size].first == pairs[size - 1].first;
    pairs.resize(size);
  }
  return lists;
}

void assert_graph(const Graph& graph, const Metric& metric, const std::vector<List>& lists, bool similarity) {
  assert_int_equal(graph.rows, lists.size());
  const std::int64_t shift = graph.self_first ? 1 : 0;
  for (std::int64_t i = 0; i < graph.rows; ++i) {
    const List& list = lists[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < graph.k(); ++j) {
      const auto& [key, id] = list.pairs[static_cast<std::size_t>(j)];
      const double value = reported_value(metric, key, similarity);
      const double rounded = graph.value_dtype == KNNG_F32 ? static_cast<double>(static_cast<float>(value)) : value;
      assert_int_equal(graph.ids[i * graph.width + shift + j], id);
      assert_int_equal(bits(graph.value(i * graph.width + shift + j)), bits(rounded));
    }
    assert_int_equal(graph.ties[i], list.tied);
  }
}

// ---- the same graph, whatever the way

const Texts kWays[] = {
    {{"threads", "1"}},
    {{"threads", "2"}, {"engine", "direct"}},
    {{"threads", "4"}, {"engine", "direct"}, {"tile_rows", "1"}, {"tile_cols", "1"}},
    {{"threads", "2"}, {"engine", "direct"}, {"tile_rows", "3"}, {"tile_cols", "17"}},
    {{"threads", "3"}, {"engine", "direct"}, {"tile_rows", "64"}, {"tile_cols", "4"}},
    {{"threads", "2"}, {"engine", "direct"}, {"tile_rows", "1000"}, {"tile_cols", "1000"}},
    {{"threads", "1"}, {"engine", "direct"}, {"tile_rows", "7"}, {"tile_cols", "1000"}},
};

std::vector<std::pair<const char*, const char*>> metrics_with_p() {
  std::vector<std::pair<const char*, const char*>> all;
  for (const Metric& m : metrics()) all.emplace_back(m.name, "3");
  all.emplace_back("minkowski", "0.7");
  return all;
}

// Only minkowski takes one.
const char* exponent_of(std::string_view metric, const char* p) { return metric == "minkowski" ? p : "auto"; }

void builds_equal_plain_evaluation(void**) {
  const struct {
    Kind kind;
    std::int64_t rows, dim, k;
    bool zeros;
  } sets[] = {{Kind::uniform, 61, 20, 5, false},
              {Kind::grid, 90, 4, 7, true},
              {Kind::blobs, 53, 33, 52, false},
              {Kind::grid, 40, 1, 1, true},
              {Kind::uniform, 2, 3, 1, false}};
  int turn = 0;
  for (const auto& set : sets) {
    for (const auto& [name, p] : metrics_with_p()) {
      const Metric metric = find_metric(name, std::stod(p));
      // Rows of zeros have no share.
      const bool zeros = set.zeros && metric.transform != Transform::share;
      Rows<float> rows = make_rows(set.kind, set.rows, set.dim, zeros, 31);
      if (metric.transform == Transform::share)
        for (float& x : rows.flat) x += 0.5F;
      const Dataset data = rows.dataset();
      const auto lists = plain_lists(metric, data, data, true, nullptr, set.k);
      for (const Texts& way : kWays) {
        if (!tried(turn++, 4)) continue;
        Settings settings = with(way);
        settings.set("metric", name);
        settings.set("p", exponent_of(name, p));
        const Graph graph = build(data, settings, set.k);
        assert_graph(graph, metric, lists, false);
        assert_int_equal(check(data, settings, graph), -1);
        assert_true(graph.square && graph.columns == set.rows && graph.width == set.k);
        const auto tied = std::count(graph.ties.begin(), graph.ties.end(), 1);
        assert_true(graph.stats[Stat::ties_at_k] == static_cast<double>(tied));
      }
    }
  }
}

// Rows that equal others are left out and come back: `copies` of each row, in turns and mixed, down to one that all
// are.
void duplicates_come_back(void**) {
  int turn = 0;
  for (const std::int64_t copies : {2, 5, 60})
    for (const auto& [name, p] : metrics_with_p()) {
      const Metric metric = find_metric(name, std::stod(p));
      Rows<float> rows = make_rows(Kind::grid, 60 / copies, 4, metric.transform != Transform::share, 41);
      if (metric.transform == Transform::share)
        for (float& x : rows.flat) x += 0.5F;
      const std::vector<float> once = rows.flat;
      rows.flat.clear();
      for (std::int64_t i = 0; i < 60; ++i) {
        const std::int64_t from = (copies == 2 ? i * 7 : i) % (60 / copies) * 4;
        rows.flat.insert(rows.flat.end(), once.begin() + from, once.begin() + from + 4);
        if (i % 3 == 0 && rows.flat.back() == 0) rows.flat.back() = -0.0F;
      }
      rows.rows = 60;
      const Dataset data = rows.dataset();
      for (const std::int64_t k : {1, 3, 13, 59}) {
        const auto lists = plain_lists(metric, data, data, true, nullptr, k);
        for (const char* engine : {"auto", "tiled", "direct"}) {
          if (!tried(turn++, 3)) continue;
          const Settings settings = with({{"metric", name},
                                          {"p", exponent_of(name, p)},
                                          {"engine", engine},
                                          {"threads", "2"},
                                          {"self", k % 2 ? "first" : "exclude"}});
          const Graph graph = build(data, settings, k);
          assert_graph(graph, metric, lists, false);
          assert_true(graph.stats[Stat::proved] == 60);
          assert_true(std::count(graph.proof.begin(), graph.proof.end(), 0) == 0);
          // Where not every pair was evaluated canonically, lists are checked when duplicates are back in them.
          if (graph.text.engine != "direct") assert_true(graph.stats[Stat::checked] > 0);
          // inner_product: equal rows are not at key 0.
          const bool all = engine[0] == 'd' || metric.term == Term::product;
          if (all) assert_true(graph.stats[Stat::pairs] == 60 * 59 / 2);
          // A tree of 60 rows, or lists of one, take less memory than what tells which rows are equal.
          if (!all && engine[0] == 't' && k > 1 && copies < 60 && !has_directions(metric.transform))
            assert_true(graph.stats[Stat::pairs] < 60 * 59 / 4);
        }
      }
    }
}

// Bytes of which the first i twelfths of row i are 255: keys up to d times 59,606, which leave 32 bits at d = 40,000.
void bytes_of_many_dimensions(void**) {
  constexpr std::int64_t n = 12;
  const Metric metric = find_metric("sqeuclidean", 2);
  for (const std::int64_t d : {16384, 16385, 40000}) {
    Rows<std::uint8_t> rows(KNNG_U8, n, d);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t t = 0; t < d; ++t) rows.flat.push_back(t < i * d / n ? 255 : 0);
    const Dataset data = rows.dataset();
    const auto lists = plain_lists(metric, data, data, true, nullptr, n - 1);
    for (const char* engine : {"auto", "fused", "direct"})
      assert_graph(build(data, with({{"metric", "sqeuclidean"}, {"engine", engine}, {"device", "cpu"}}), n - 1), metric,
                   lists, false);
  }
}

void self_first_and_similarities(void**) {
  const Rows<float> rows = make_rows(Kind::grid, 45, 6, true, 33);
  const Dataset data = rows.dataset();
  for (const char* name : {"cosine", "correlation", "spearman", "inner_product", "euclidean"})
    for (const char* value : {"distance", "similarity"})
      for (const char* type : {"f32", "f64"}) {
        if (std::strcmp(name, "euclidean") == 0 && std::strcmp(value, "similarity") == 0) continue;
        const Settings settings =
            with({{"metric", name}, {"value", value}, {"value_type", type}, {"self", "first"}, {"threads", "2"}});
        const Graph graph = build(data, settings, 4);
        const Metric metric = find_metric(name, 2);
        const bool similarity = value[0] == 's';
        assert_true(graph.self_first && graph.width == 5);
        assert_int_equal(graph.value_dtype, type[1] == '3' ? KNNG_F32 : KNNG_F64);
        assert_graph(graph, metric, plain_lists(metric, data, data, true, nullptr, 4), similarity);
        for (std::int64_t i = 0; i < graph.rows; ++i) {
          std::vector<double> x(6);
          data.load(i, x.data());
          const double key = metric.term == Term::product ? canonical_key(metric, x, x) : 0.0;
          assert_int_equal(graph.ids[i * 5], i);
          assert_int_equal(bits(graph.value(i * 5)), bits(reported_value(metric, key, similarity)));
        }
        assert_int_equal(check(data, settings, graph), -1);
      }
}

void queries_equal_plain_evaluation(void**) {
  int turn = 0;
  for (const bool zeros : {false, true}) {
    const Rows<float> rows = make_rows(Kind::grid, 70, 5, zeros, 35), asked = make_rows(Kind::grid, 23, 5, zeros, 36);
    const Dataset data = rows.dataset(), queries = asked.dataset();
    std::vector<std::int64_t> leave_out;
    for (std::int64_t i = 0; i < 23; ++i) leave_out.push_back(i % 4 == 0 ? -1 : i * 3);
    for (const char* name : {"sqeuclidean", "cosine", "spearman", "inner_product", "braycurtis"})
      for (const std::int64_t* left : {static_cast<std::int64_t*>(nullptr), leave_out.data()})
        for (const std::int64_t k : {std::int64_t{1}, std::int64_t{9}, std::int64_t{left ? 69 : 70}}) {
          const Metric metric = find_metric(name, 2);
          const auto lists = plain_lists(metric, queries, data, false, left, k);
          for (const Texts& way : kWays) {
            if (!tried(turn++, 4)) continue;
            Settings settings = with(way);
            settings.set("metric", name);
            settings.set("self", "first");  // has no meaning here
            const Graph graph = query(data, settings, queries, left, k);
            assert_graph(graph, metric, lists, false);
            assert_true(!graph.square && !graph.self_first && graph.columns == 70 && graph.width == k);
          }
        }
  }
}

// Large enough for every engine to be chosen.
void engines_give_the_same_graph(void**) {
  int pair = 0, turn = 0;
  for (const Kind kind : {Kind::uniform, Kind::grid, Kind::blobs})
    for (const char* name : {"euclidean", "cosine", "correlation", "inner_product"}) {
      if (!tried(pair++, 2)) continue;
      const Rows<float> rows = make_rows(kind, 1500, 12, true, 37);
      const Dataset data = rows.dataset();
      const Graph direct = build(data, with({{"metric", name}, {"engine", "direct"}, {"threads", "2"}}), 10);
      for (const CpuEngine& engine : cpu_engines())
        for (const char* tile : {"0", "100", "1024"}) {
          if (!engine.can_run(find_metric(name, 2), 12) || !tried(turn++, 3)) continue;
          const Graph other =
              build(data, with({{"metric", name}, {"engine", engine.name}, {"tile_cols", tile}, {"threads", "2"}}), 10);
          assert_string_equal(other.text.engine.c_str(), engine.name);
          assert_true(same(direct, other));
        }
      assert_true(same(direct, build(data, with({{"metric", name}}), 10)));
      assert_int_equal(check(data, with({{"metric", name}}), direct, 40), -1);
    }
}

// ---- check

void check_finds_what_is_wrong(void**) {
  const Rows<float> rows = make_rows(Kind::uniform, 50, 8, false, 39);
  const Dataset data = rows.dataset();
  const Settings settings = with({{"threads", "2"}});
  Graph graph = build(data, settings, 4);
  assert_int_equal(check(data, settings, graph), -1);
  assert_int_equal(check(data, with({{"metric", "cosine"}}), graph), 0);
  for (const std::int64_t row : {0, 17, 49}) {
    const std::int64_t entry = row * 4 + 2;
    std::swap(graph.ids[entry], graph.ids[entry + 1]);
    assert_int_equal(check(data, settings, graph), row);
    std::swap(graph.ids[entry], graph.ids[entry + 1]);
    auto* value = reinterpret_cast<float*>(graph.values.data()) + entry;
    const float right = *value;
    *value = std::nextafter(right, 0.0F);  // the last bit
    assert_int_equal(check(data, settings, graph), row);
    *value = right;
  }
  assert_int_equal(check(data, settings, graph), -1);
  // The first of several; a sample sees only its rows: 0, 10, 20, ...
  graph.ids[13 * 4] = 13;
  graph.ids[31 * 4] = 31;
  assert_int_equal(check(data, settings, graph), 13);
  assert_int_equal(check(data, settings, graph, 5), -1);
  graph.ids[20 * 4] = 20;
  assert_int_equal(check(data, settings, graph, 5), 20);
}

// ---- memory

struct Memory {
  std::int64_t planned, smallest, peak;
};

// Builds (or queries) within exactly what the plan says.
Memory memory_of(const Dataset& data, const Dataset* queries, const Texts& texts, std::int64_t k,
                 std::int64_t limit = 0) {
  Settings settings = with(texts);
  if (limit) settings.set("max_host_bytes", std::to_string(limit));
  Task task = make_task(settings, data, queries != nullptr);
  task.wants_smallest = true;
  const TaskPlan plan = queries ? plan_task(task, data, queries->rows(), queries->dtype(), k, data.held_bytes())
                                : plan_task(task, data, 0, 0, k, data.held_bytes());
  const Graph graph = queries ? query(data, settings, *queries, nullptr, k) : build(data, settings, k);
  return {plan.host_bytes, plan.smallest_host, static_cast<std::int64_t>(graph.stats[Stat::bytes_host_peak])};
}

const Texts kMemoryCases[] = {
    {},
    {{"self", "first"}},
    {{"self", "first"}, {"metric", "inner_product"}},
    {{"metric", "inner_product"}},
    {{"metric", "cosine"}},
    {{"metric", "spearman"}, {"value_type", "f64"}},
    {{"metric", "jensenshannon"}},
    {{"metric", "manhattan"}},
    {{"tile_rows", "16"}, {"tile_cols", "32"}, {"threads", "3"}},
};

// In a small run one of five.
template <class F>
void for_memory_cases(F&& f) {
  int turn = 0;
  // Many rows of few values, few rows of many, hardly any: prepare, tiles, result or check have the peak in turn.
  for (const auto& [n, d, k] :
       {std::tuple{2000, 3, 3}, {300, 700, 2}, {1200, 24, 15}, {40, 3, 39}, {6, 3000, 1}, {4, 1, 3}}) {
    const Rows<float> rows = make_rows(Kind::uniform, n, d, false, 41),
                      asked = make_rows(Kind::uniform, 60, d, false, 42);
    const Dataset data = rows.dataset(), queries = asked.dataset();
    for (const char* engine : {"auto", "direct"})
      for (const Dataset* q : {static_cast<const Dataset*>(nullptr), &queries})
        for (Texts texts : kMemoryCases) {
          if (!tried(turn++, 5)) continue;
          if (std::none_of(texts.begin(), texts.end(), [](const auto& t) { return std::string("threads") == t.first; }))
            texts.emplace_back("threads", "2");
          texts.emplace_back("engine", engine);
          f(data, q, texts, k);
        }
  }
}

void describe(const Dataset& data, const Dataset* queries, const Texts& texts, std::int64_t k, const Memory& m) {
  print_error("%lld x %lld, k %lld%s:", static_cast<long long>(data.rows()), static_cast<long long>(data.dim()),
              static_cast<long long>(k), queries ? ", queries" : "");
  for (const auto& [key, value] : texts) print_error(" %s=%s", key, value.c_str());
  print_error(": planned %lld, smallest %lld, peak %lld\n", static_cast<long long>(m.planned),
              static_cast<long long>(m.smallest), static_cast<long long>(m.peak));
}

// The plan is an upper bound, exact for the direct engine. It may count a row of doubles too much for each thread: the
// scratch for self=first, which only inner_product takes, and what both sides of a filter share in queries.
void peak_is_what_was_planned(void**) {
  int wrong = 0;
  for_memory_cases([&](const Dataset& data, const Dataset* queries, const Texts& texts, std::int64_t k) {
    const Memory m = memory_of(data, queries, texts, k);
    assert_true(m.peak <= m.planned);
    if (data.rows() < 6) return;  // a tree's plan has room that so few do not fill
    const Settings settings = with(texts);
    const bool exact = settings.is(Setting::engine, "direct") && settings.is(Setting::self, "exclude");
    const std::int64_t slack = exact ? 0 : 8 * data.dim() * settings.integer(Setting::threads);
    if (m.peak >= m.planned - slack) return;
    describe(data, queries, texts, k, m);
    ++wrong;
  });
  assert_int_equal(wrong, 0);
}

void smallest_budget_is_enough_and_one_byte_less_is_not(void**) {
  int wrong = 0, turn = 0;
  for_memory_cases([&](const Dataset& data, const Dataset* queries, Texts texts, std::int64_t k) {
    ++turn;
    for (const bool free_threads : {false, true}) {
      if (small_run() && free_threads != (turn % 3 == 0)) continue;
      if (free_threads) std::erase_if(texts, [](const auto& t) { return std::string("threads") == t.first; });
      const std::int64_t smallest = memory_of(data, queries, texts, k).smallest;
      const knng_error enough = error_of([&] { memory_of(data, queries, texts, k, smallest); });
      if (enough.code != KNNG_OK) {
        describe(data, queries, texts, k, {0, smallest, 0});
        print_error("  %s\n", enough.message);
        ++wrong;
      }
      const knng_error less = error_of([&] { memory_of(data, queries, texts, k, smallest - 1); });
      assert_int_equal(less.code, KNNG_ERR_BUDGET);
      assert_int_equal(less.given, smallest - 1);
      assert_true(less.limit <= smallest);
    }
  });
  assert_int_equal(wrong, 0);
}

void budgets_do_not_change_the_graph(void**) {
  const Rows<float> rows = make_rows(Kind::grid, 1300, 9, true, 43);
  const Dataset data = rows.dataset();
  const Graph free = build(data, with({{"threads", "4"}}), 6);
  const Memory m = memory_of(data, nullptr, {{"engine", "direct"}}, 6);
  for (std::int64_t budget = m.smallest; budget < 2 * m.planned; budget += (2 * m.planned - m.smallest) / 7)
    assert_true(same(free, build(data, with({{"max_host_bytes", std::to_string(budget)}}), 6)));
}

// ---- stopping

void first_call_of_progress_can_stop_a_build(void**) {
  const Rows<float> rows = make_rows(Kind::uniform, 200, 8, false, 45);
  const Dataset data = rows.dataset();
  const auto stop = [](void*, const char*, double, double) -> std::int32_t { return 1; };
  volatile std::int32_t flag = 1;
  const knng_control controls[] = {{sizeof(knng_control), 1, stop, nullptr, nullptr, nullptr, 0},
                                   {sizeof(knng_control), 1, nullptr, nullptr, nullptr, &flag, 0}};
  const Settings settings = with({{"threads", "2"}});
  const Graph graph = build(data, settings, 3);
  for (const knng_control& control : controls) {
    const FloatEnv env;
    Monitor monitor(control, env);
    assert_int_equal(error_of([&] { build_graph(data, settings, 3, monitor); }).code, KNNG_ERR_CANCELLED);
    Monitor other(control, env);
    assert_int_equal(error_of([&] { query_graph(data, settings, data, nullptr, 3, other); }).code, KNNG_ERR_CANCELLED);
    Monitor third(control, env);
    assert_int_equal(error_of([&] { check_graph(data, settings, graph, 0, third); }).code, KNNG_ERR_CANCELLED);
  }
}

// Sizes around what several threads are started for, and more threads than rows.
void copies_by_several_threads(void**) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4097}, std::int64_t{70000}}) {
    const Rows<float> rows = make_rows(Kind::uniform, n, 7, false, 9);
    const Dataset data = rows.dataset();
    const std::int64_t first = n / 3, count = n - first, bytes = count * 7 * 4;
    for (const int threads : {1, 2, 5}) {
      std::vector<std::byte> packed(static_cast<std::size_t>(bytes) + 1, std::byte{0xa5}), copied = packed;
      ThreadTeam team(5);
      pack_rows(data, first, count, packed.data(), team, threads);
      assert_memory_equal(packed.data(), rows.flat.data() + first * 7, static_cast<std::size_t>(bytes));
      copy_bytes(copied.data(), packed.data(), bytes, team, threads);
      assert_memory_equal(copied.data(), packed.data(), packed.size());  // and the byte after it is as it was
    }
  }
}

// Rows stay in their file beyond three quarters of the limit, or of the machine's memory.
void rows_too_large_to_hold(void**) {
  assert_false(too_large_to_hold(750, 0, 1000));
  assert_true(too_large_to_hold(751, 0, 1000));
  assert_false(too_large_to_hold(50, 700, 1000));
  assert_true(too_large_to_hold(51, 700, 1000));
  assert_true(too_large_to_hold(1, 2000, 1000));
  assert_true(too_large_to_hold(INT64_MAX, INT64_MAX, 1000));
  const std::int64_t machine = host_memory();
  assert_true(machine > std::int64_t{1} << 26);
  assert_false(too_large_to_hold(machine / 2, 0, 0));
  assert_true(too_large_to_hold(machine / 5 * 4, 0, 0));
  assert_true(too_large_to_hold(machine / 2, machine / 2, 0));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(builds_equal_plain_evaluation),
      cmocka_unit_test(duplicates_come_back),
      cmocka_unit_test(bytes_of_many_dimensions),
      cmocka_unit_test(self_first_and_similarities),
      cmocka_unit_test(queries_equal_plain_evaluation),
      cmocka_unit_test(engines_give_the_same_graph),
      cmocka_unit_test(check_finds_what_is_wrong),
      cmocka_unit_test(peak_is_what_was_planned),
      cmocka_unit_test(smallest_budget_is_enough_and_one_byte_less_is_not),
      cmocka_unit_test(budgets_do_not_change_the_graph),
      cmocka_unit_test(first_call_of_progress_can_stop_a_build),
      cmocka_unit_test(copies_by_several_threads),
      cmocka_unit_test(rows_too_large_to_hold),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
