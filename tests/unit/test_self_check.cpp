// Rows that a build looks at again: which they are, how many, and that every wrong entry of one of them is found. What
// devices do about it: tests/api/test_device_faults.c.
#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/float_env.h"
#include "core/monitor.h"
#include "exec/build.h"
#include "exec/self_check.h"
#include "exec/task.h"
#include "plan/checked_rows.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

constexpr std::int64_t kRows = 300, kDim = 12, kK = 6;

std::vector<float> random_values(std::int64_t rows, std::uint64_t seed) {
  values::Random random(seed);
  std::vector<float> all(static_cast<std::size_t>(rows * kDim));
  for (float& x : all) x = static_cast<float>(random.below(4));  // ties
  return all;
}

Dataset shown(const std::vector<float>& values) {
  Dataset data;
  const auto rows = static_cast<std::int64_t>(values.size()) / kDim;
  data.borrow({KNNG_F32, rows, kDim, kDim, 1, reinterpret_cast<const std::byte*>(values.data())}, {}, kNoByteType,
              nullptr, nullptr);
  return data;
}

void rows_are_spread(void**) {
  for (const std::int64_t rows : {1, 2, 7, 100, 1001})
    for (const std::int64_t count : {0, 1, 2, 4, 33, 100, 1001}) {
      if (count > rows) continue;
      const SpreadRows spread(count, rows);
      const std::vector<std::int64_t> list = spread.list();
      assert_int_equal(list.size(), count);
      for (std::int64_t part = 0; part < count; ++part) {
        const std::int64_t row = list[static_cast<std::size_t>(part)];
        assert_true(row >= part * rows / count && row < (part + 1) * rows / count);
      }
      for (std::int64_t row = 0; row <= rows; ++row)
        assert_int_equal(spread.below(row), std::lower_bound(list.begin(), list.end(), row) - list.begin());
      for (const std::int64_t slice : {1, 3, 40, 2000}) {
        std::int64_t most = 0;
        for (std::int64_t first = 0; first < rows; first += slice)
          most = std::max<std::int64_t>(most, std::count_if(list.begin(), list.end(), [&](std::int64_t row) {
                                          return row >= first && row < first + slice;
                                        }));
        assert_int_equal(spread.most_in(slice), most);
      }
    }
  const std::vector<std::int64_t> few = SpreadRows(10, 1000000).list();
  for (std::size_t i = 1; i < few.size(); ++i) assert_true(few[i] % 100000 != few[0] % 100000);  // not a grid
}

void as_many_as_cost_one_hundredth(void**) {
  assert_int_equal(rows_to_check(0, 100, 1e9, 100, 8), 0);
  assert_int_equal(rows_to_check(7, 100, 1e9, 100, 8), 7);
  assert_int_equal(rows_to_check(101, 100, 1e9, 100, 8), 100);
  assert_int_equal(rows_to_check(kCheckedByCost, 3, 3, 3, 8), 3);
  assert_int_equal(rows_to_check(kCheckedByCost, 1000, 500e3, 1000, 16), kFewestChecked);
  // 60,000 rows: 1.8e9 pairs are worth 1.8e9 / 16 keys, and a row takes 60,000.
  assert_int_equal(rows_to_check(kCheckedByCost, 60000, 1.8e9, 60000, 16), 18);
  assert_int_equal(rows_to_check(kCheckedByCost, 1 << 30, 1e18, 1 << 30, 1), kMostCheckedByCost);
}

struct Case {
  Case(const char* metric, const char* self, const char* value_type, bool asks)
      : rows(random_values(kRows, 3)),
        asked(random_values(41, 4)),
        data(shown(rows)),
        queries(shown(asked)),
        left_out(41, -1),
        with_queries(asks) {
    for (const auto& [key, value] : {std::pair{"metric", metric},
                                     {"self", self},
                                     {"value_type", value_type},
                                     {"threads", "2"},
                                     {"check_rows", "20"}})
      settings.set(key, value);
    for (std::size_t i = 0; i < left_out.size(); i += 2) left_out[i] = static_cast<std::int64_t>(i * 5);
  }
  Graph made(Monitor& monitor) const {
    return with_queries ? query_graph(data, settings, queries, left_out.data(), kK, monitor)
                        : build_graph(data, settings, kK, monitor);
  }
  void look(Monitor& monitor, Graph& graph) const {
    const Task task = make_task(settings, data, with_queries);
    const TaskPlan plan = with_queries ? plan_task(task, data, 41, KNNG_F32, kK, data.held_bytes())
                                       : plan_task(task, data, 0, 0, kK, data.held_bytes());
    Budget budget(INT64_MAX);
    ThreadTeam team(2);
    const CanonicalRows columns(data, task.metric, team, &budget, monitor, "rows", RowOrder());
    const Request request{data,
                          with_queries ? &queries : nullptr,
                          {!with_queries, with_queries ? left_out.data() : nullptr},
                          kK,
                          &budget,
                          monitor};
    check_rows(request, task, plan, team, 20, columns, graph);
  }

  std::vector<float> rows, asked;
  Dataset data, queries;
  std::vector<std::int64_t> left_out;
  bool with_queries;
  Settings settings;
};

// The row that is said to be wrong, -1: none is.
std::int64_t row_found(const Case& c, Monitor& monitor, Graph& graph) {
  try {
    c.look(monitor, graph);
  } catch (const Error& e) {
    assert_int_equal(e.code(), KNNG_ERR_CHECK);
    assert_string_equal(e.info().argument, "check_rows");
    return e.info().row;
  }
  return -1;
}

void every_wrong_entry_is_found(void**) {
  const FloatEnv env;
  Monitor monitor({sizeof(knng_control), 0, nullptr, nullptr, nullptr, nullptr, 0}, env);
  for (const char* metric : {"euclidean", "cosine", "inner_product", "manhattan"})
    for (const char* self : {"exclude", "first"})
      for (const char* type : {"f32", "f64"})
        for (const bool asks : {false, true}) {
          const Case c(metric, self, type, asks);
          Graph graph = c.made(monitor);
          assert_int_equal(row_found(c, monitor, graph), -1);
          const std::vector<std::int64_t> listed = SpreadRows(20, graph.rows).list();
          std::int64_t not_listed = 0;
          while (std::count(listed.begin(), listed.end(), not_listed) != 0) ++not_listed;
          for (const std::int64_t row : {listed.front(), listed[7], listed.back(), not_listed}) {
            const std::int64_t expected = row == not_listed ? -1 : row;
            for (std::int64_t t = 0; t < graph.width; ++t) {
              const std::int64_t at = row * graph.width + t;
              graph.ids[at] ^= 1;
              assert_int_equal(row_found(c, monitor, graph), expected);
              graph.ids[at] ^= 1;
              auto* const value = reinterpret_cast<unsigned char*>(graph.values.data()) + at * (type[1] == '3' ? 4 : 8);
              *value ^= 1;  // the last bit
              assert_int_equal(row_found(c, monitor, graph), expected);
              *value ^= 1;
            }
            graph.ties[row] ^= 1;
            assert_int_equal(row_found(c, monitor, graph), expected);
            graph.ties[row] ^= 1;
          }
          assert_int_equal(row_found(c, monitor, graph), -1);
        }
}

// What a build says of it: never where all keys are evaluated anyway.
void builds_say_how_many(void**) {
  const FloatEnv env;
  Monitor monitor({sizeof(knng_control), 0, nullptr, nullptr, nullptr, nullptr, 0}, env);
  for (const char* engine : {"fused", "tiled", "direct"})
    for (const char* asked : {"auto", "0", "33", "1000000"})
      for (const bool asks : {false, true}) {
        Case c("euclidean", "exclude", "auto", asks);
        c.settings.set("engine", engine);
        c.settings.set("check_rows", asked);
        const Graph graph = c.made(monitor);
        const std::int64_t number = std::string(asked) == "auto" ? kFewestChecked : std::stoll(asked);
        const bool all = std::string(engine) == "direct";
        assert_true(graph.stats[Stat::checked] == (all ? 0.0 : static_cast<double>(std::min(number, graph.rows))));
        assert_true((graph.stats[Stat::seconds_check] > 0) == (graph.stats[Stat::checked] > 0));
      }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(rows_are_spread), cmocka_unit_test(as_many_as_cost_one_hundredth),
                              cmocka_unit_test(every_wrong_entry_is_found), cmocka_unit_test(builds_say_how_many)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
