// Import, in-degree, components and texts of graphs. test_graph_copy.cpp has copies, test_sparse.cpp sparse forms.
#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/components.h"
#include "graph/import.h"
#include "graph_samples.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

constexpr double kInf = HUGE_VAL;

template <class T>
MatrixView view_of(std::int32_t dtype, const std::vector<T>& flat, std::int64_t rows, std::int64_t cols) {
  return {dtype, rows, cols, cols, 1, reinterpret_cast<const std::byte*>(flat.data())};
}

// ---- import

void import_keeps_what_is_given(void**) {
  const std::vector<std::int32_t> ids = {2, 1, 0, -1, 1, 0};
  const std::vector<double> values = {0.5, 0.25, 3, kInf, 1, 1};
  const MatrixView distances = view_of(KNNG_F64, values, 3, 2);
  const Graph g = import_graph(view_of(KNNG_I32, ids, 3, 2), &distances);
  assert_int_equal(g.rows, 3);
  assert_int_equal(g.columns, 3);
  assert_int_equal(g.width, 2);
  assert_true(g.square && !g.self_first);
  assert_int_equal(g.value_dtype, KNNG_F64);
  for (std::int64_t e = 0; e < 6; ++e) {
    assert_int_equal(g.ids[e], ids[static_cast<std::size_t>(e)]);
    assert_true(g.value(e) == values[static_cast<std::size_t>(e)]);
  }
  for (std::int64_t i = 0; i < 3; ++i) {
    assert_int_equal(g.ties[i], 0);
    assert_int_equal(g.proof[i], 0);
  }
  assert_true(g.stats[Stat::rows] == 3 && g.stats[Stat::columns] == 3);
  for (int i = 0; i < kStats; ++i)  // nobody counted
    if (const auto s = static_cast<Stat>(i); s != Stat::rows && s != Stat::columns) assert_false(g.stats.knows(s));
  for (const char* name : {"metric", "precision", "engine", "selector", "device", "version", "fingerprint"})
    assert_string_equal(graph_text(g, name).c_str(), "unknown");
  assert_string_equal(graph_text(g, "value").c_str(), "distance");
  assert_string_equal(graph_text(g, "self").c_str(), "exclude");
}

void import_reads_any_strides(void**) {
  // Rows 0..2 of ids {1, 2}, {0, 2}, {0, 1}: column-major, padded, and bottom-up.
  const std::vector<std::int64_t> column_major = {1, 0, 0, 2, 2, 1};
  const std::vector<std::int64_t> padded = {1, 77, 2, 77, 77, 0, 77, 2, 77, 77, 0, 77, 1, 77, 77};
  const std::vector<std::int64_t> bottom_up = {0, 1, 0, 2, 1, 2};
  const auto at = [](const std::vector<std::int64_t>& v, std::size_t first, std::int64_t row, std::int64_t col) {
    return MatrixView{KNNG_I64, 3, 2, row, col, reinterpret_cast<const std::byte*>(v.data() + first)};
  };
  // Values 10, 20 / 30, 40 / 50, 60, column-major.
  const std::vector<float> values = {10, 30, 50, 20, 40, 60};
  const MatrixView distances = {KNNG_F32, 3, 2, 1, 3, reinterpret_cast<const std::byte*>(values.data())};
  for (const MatrixView& ids : {at(column_major, 0, 1, 3), at(padded, 0, 5, 2), at(bottom_up, 4, -2, 1)}) {
    const Graph g = import_graph(ids, &distances);
    const std::int64_t wanted[] = {1, 2, 0, 2, 0, 1};
    const float wanted_values[] = {10, 20, 30, 40, 50, 60};
    assert_memory_equal(g.ids.data(), wanted, sizeof wanted);
    assert_int_equal(g.value_dtype, KNNG_F32);
    assert_memory_equal(g.values.data(), wanted_values, sizeof wanted_values);
  }
}

void import_without_values(void**) {
  const std::vector<std::int64_t> ids = {1, -1, 0, -1};
  const Graph g = import_graph(view_of(KNNG_I64, ids, 2, 2), nullptr);
  const double wanted[] = {0, kInf, 0, kInf};
  for (std::int64_t e = 0; e < 4; ++e) assert_true(g.value(e) == wanted[e]);
}

void import_tells_queries_and_self_first(void**) {
  const auto import = [](const std::vector<std::int64_t>& ids, std::int64_t rows) {
    return import_graph(view_of(KNNG_I64, ids, rows, static_cast<std::int64_t>(ids.size()) / rows), nullptr);
  };
  Graph g = import({1, 2, 0, 7}, 2);
  assert_true(!g.square && !g.self_first);
  assert_int_equal(g.columns, 8);
  g = import({0, 2, 1, 7}, 2);  // queries, whatever stands first
  assert_true(!g.square && !g.self_first);
  g = import({0, 1, 1, 0}, 2);
  assert_true(g.square && g.self_first);
  assert_int_equal(g.k(), 1);
  assert_string_equal(graph_text(g, "self").c_str(), "first");
  g = import({0, 1, 0, 1}, 2);  // row 1 is not first in its list
  assert_true(g.square && !g.self_first);
  g = import({0, 1}, 2);  // k would be 0
  assert_true(g.square && !g.self_first);
  g = import({-1, -1}, 1);
  assert_true(g.square);
  assert_int_equal(g.columns, 1);
}

struct BadIds {
  std::vector<std::int64_t> ids;
  knng_status code;
  std::int64_t row, col;
  const char* message;
};

void import_refuses_bad_ids(void**) {
  const BadIds cases[] = {
      {{1, 2, 0, -2, 0, 1}, KNNG_ERR_DATA, 1, 1, "-2"},
      {{1, 2, 0, 2, 1, 1}, KNNG_ERR_DATA, 2, 1, "1 is there twice"},
      {{1, 2, 9, 9, 0, 1}, KNNG_ERR_DATA, 1, 1, "9 is there twice"},
      {{1, INT64_MIN, 0, 2, 0, 1}, KNNG_ERR_DATA, 0, 1, "-9223372036854775808"},
      {{1, INT64_MAX, 0, 2, 0, 1}, KNNG_ERR_DATA, 0, 1, "9223372036854775807"},
  };
  for (const BadIds& c : cases) {
    const knng_error e = samples::error_of([&] { import_graph(view_of(KNNG_I64, c.ids, 3, 2), nullptr); });
    assert_int_equal(e.code, c.code);
    assert_string_equal(e.argument, "ids");
    assert_int_equal(e.row, c.row);
    assert_int_equal(e.col, c.col);
    assert_non_null(std::strstr(e.message, c.message));
  }
  // -1 may come as often as it likes.
  const std::vector<std::int64_t> none = {-1, -1, -1, -1, -1, -1};
  assert_int_equal(samples::error_of([&] { import_graph(view_of(KNNG_I64, none, 3, 2), nullptr); }).code, KNNG_OK);
}

void import_refuses_bad_values(void**) {
  const std::vector<std::int64_t> ids = {1, 2, 0, -1, 0, 1};
  const auto failure = [&](const std::vector<double>& values) {
    const MatrixView distances = view_of(KNNG_F64, values, 3, 2);
    return samples::error_of([&] { import_graph(view_of(KNNG_I64, ids, 3, 2), &distances); });
  };
  assert_int_equal(failure({1, 2, 1, kInf, 2, 1}).code, KNNG_OK);
  assert_int_equal(failure({1, -2, kInf, kInf, 2, 1}).code, KNNG_OK);
  knng_error e = failure({1, 2, 1, kInf, std::nan(""), 1});
  assert_int_equal(e.code, KNNG_ERR_DATA);
  assert_string_equal(e.argument, "values");
  assert_int_equal(e.row, 2);
  assert_int_equal(e.col, 0);
  for (const double beside_none : {0.0, -kInf, 3.4e38, std::nan("")}) {
    e = failure({1, 2, 1, beside_none, 2, 1});
    assert_int_equal(e.code, KNNG_ERR_DATA);
    assert_int_equal(e.row, 1);
    assert_int_equal(e.col, 1);
  }
}

void import_refuses_shapes_and_dtypes(void**) {
  const std::vector<std::int64_t> ids = {1, 2, 0, 2, 0, 1};
  const std::vector<double> values(6, 1.0);
  const auto failure = [](const MatrixView& i, const MatrixView& v) {
    return samples::error_of([&] { import_graph(i, &v); });
  };
  const MatrixView good_ids = view_of(KNNG_I64, ids, 3, 2), good_values = view_of(KNNG_F64, values, 3, 2);
  assert_int_equal(failure(good_ids, good_values).code, KNNG_OK);
  for (const std::int32_t dtype : std::vector<std::int32_t>{KNNG_I16, KNNG_U16, KNNG_U8, KNNG_F32, 0, 12345}) {
    const knng_error e = failure(view_of(dtype, ids, 3, 2), good_values);
    assert_int_equal(e.code, KNNG_ERR_ARGUMENT);
    assert_string_equal(e.argument, "ids");
    assert_int_equal(e.given, dtype);
  }
  for (const std::int32_t dtype : std::vector<std::int32_t>{KNNG_F16, KNNG_BF16, KNNG_I64, 0}) {
    const knng_error e = failure(good_ids, view_of(dtype, values, 3, 2));
    assert_int_equal(e.code, KNNG_ERR_ARGUMENT);
    assert_string_equal(e.argument, "values");
  }
  assert_int_equal(failure(good_ids, view_of(KNNG_F64, values, 2, 3)).code, KNNG_ERR_ARGUMENT);
  assert_int_equal(failure(good_ids, view_of(KNNG_F64, values, 3, 1)).code, KNNG_ERR_ARGUMENT);
  assert_int_equal(failure(view_of(KNNG_I64, ids, 0, 2), view_of(KNNG_F64, values, 0, 2)).code, KNNG_ERR_ARGUMENT);
  assert_int_equal(failure(view_of(KNNG_I64, ids, 3, 0), view_of(KNNG_F64, values, 3, 0)).code, KNNG_ERR_ARGUMENT);
}

// ---- in-degree and components against plain counting and a breadth-first search

std::vector<std::int64_t> components_reference(const Graph& g) {
  const auto n = static_cast<std::size_t>(g.rows);
  std::vector<std::vector<std::size_t>> near(n);
  for (std::int64_t e = 0; e < g.entries(); ++e) {
    if (g.ids[e] < 0) continue;
    const auto i = static_cast<std::size_t>(e / g.width), j = static_cast<std::size_t>(g.ids[e]);
    near[i].push_back(j);
    near[j].push_back(i);
  }
  std::vector<std::int64_t> number(n, -1);
  std::int64_t next = 0;
  for (std::size_t start = 0; start < n; ++start) {
    if (number[start] >= 0) continue;
    std::vector<std::size_t> queue = {start};
    number[start] = next;
    for (std::size_t q = 0; q < queue.size(); ++q)
      for (const std::size_t j : near[queue[q]])
        if (number[j] < 0) {
          number[j] = next;
          queue.push_back(j);
        }
    ++next;
  }
  return number;
}

void assert_degrees_and_components(const Graph& g) {
  const Buffer<std::int64_t> found = components(g), degree = in_degree(g);
  const std::vector<std::int64_t> wanted = components_reference(g);
  assert_int_equal(found.size(), g.rows);
  assert_memory_equal(found.data(), wanted.data(), wanted.size() * sizeof(std::int64_t));
  assert_int_equal(degree.size(), g.columns);
  for (std::int64_t j = 0; j < g.columns; ++j) {
    std::int64_t lists = 0;
    for (std::int64_t e = 0; e < g.entries(); ++e) lists += g.ids[e] == j && e / g.width != j;
    assert_int_equal(degree[j], lists);
  }
}

void components_of_random_graphs(void**) {
  std::mt19937 random(5);
  std::int64_t most = 0;
  for (int round = 0; round < 60; ++round) {
    samples::Shape shape{};
    shape.rows = 2 + static_cast<std::int64_t>(random() % 60);
    shape.k = 1 + static_cast<std::int64_t>(random() % 2);
    shape.k = std::min(shape.k, shape.rows - 1);
    shape.value_dtype = KNNG_F32;
    shape.self_first = round % 3 == 0;
    shape.stray_self = round % 3 == 1;
    shape.missing = round % 2 ? 0.6 : 0;
    const Graph g = samples::random_graph(shape, random);
    assert_degrees_and_components(g);
    const std::vector<std::int64_t> number = components_reference(g);
    most = std::max(most, *std::max_element(number.begin(), number.end()));
  }
  assert_true(most > 3);  // the graphs fall into pieces, or this test says little
}

void components_of_chains(void**) {
  // Long chains in both directions: the worst case of a union-find without path halving.
  const std::int64_t n = 20000;
  for (const bool up : {true, false}) {
    samples::Ids ids;
    for (std::int64_t i = 0; i < n; ++i)
      ids.push_back({up ? std::min(i + 1, n - 1) : std::max<std::int64_t>(i - 1, 0)});
    ids[static_cast<std::size_t>(n / 2)] = {-1};
    const Graph g = samples::make_graph(ids, samples::Values(static_cast<std::size_t>(n), {1.0}), KNNG_F32, false);
    const Buffer<std::int64_t> found = components(g);
    const std::int64_t cut = up ? n / 2 + 1 : n / 2;
    for (std::int64_t i = 0; i < n; ++i) assert_int_equal(found[i], i >= cut);
  }
}

// ---- texts

void texts_by_name(void**) {
  Graph g;
  g.text = {"cosine", "2.5", "exact", "direct", "auto", "cpu", "0.1.0", "abc", "similarity", "exclude"};
  assert_string_equal(graph_text(g, "metric").c_str(), "cosine");
  assert_string_equal(graph_text(g, "p").c_str(), "2.5");
  assert_string_equal(graph_text(g, "precision").c_str(), "exact");
  assert_string_equal(graph_text(g, "engine").c_str(), "direct");
  assert_string_equal(graph_text(g, "selector").c_str(), "auto");
  assert_string_equal(graph_text(g, "device").c_str(), "cpu");
  assert_string_equal(graph_text(g, "version").c_str(), "0.1.0");
  assert_string_equal(graph_text(g, "fingerprint").c_str(), "abc");
  assert_string_equal(graph_text(g, "value").c_str(), "similarity");
  assert_string_equal(graph_text(g, "self").c_str(), "exclude");
  for (const char* name : {"", "Metric", "rows"}) {
    const knng_error e = samples::error_of([&] { graph_text(g, name); });
    assert_int_equal(e.code, KNNG_ERR_OPTION);
    assert_non_null(
        std::strstr(e.message, "metric, p, precision, engine, selector, device, version, fingerprint, value, self"));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(import_keeps_what_is_given),
      cmocka_unit_test(import_reads_any_strides),
      cmocka_unit_test(import_without_values),
      cmocka_unit_test(import_tells_queries_and_self_first),
      cmocka_unit_test(import_refuses_bad_ids),
      cmocka_unit_test(import_refuses_bad_values),
      cmocka_unit_test(import_refuses_shapes_and_dtypes),
      cmocka_unit_test(components_of_random_graphs),
      cmocka_unit_test(components_of_chains),
      cmocka_unit_test(texts_by_name),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
