// Sparse forms against dense matrices filled in straight from the definitions, and against numbers worked out by hand.
#include <map>
#include <string>
#include <utility>

#include "graph/sparse.h"
#include "graph_samples.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

using Entries = std::map<std::pair<std::int64_t, std::int64_t>, double>;

double stored_value(const Sparse& s, std::int64_t e) {
  return s.value_dtype == KNNG_F32 ? static_cast<double>(reinterpret_cast<const float*>(s.values.data())[e])
                                   : reinterpret_cast<const double*>(s.values.data())[e];
}

// Checks that CSR and COO are sound and say the same; returns the entries.
Entries entries_of(const Sparse& s) {
  assert_int_equal(s.indptr.size(), s.rows + 1);
  assert_int_equal(s.indptr[0], 0);
  assert_int_equal(s.indptr[s.rows], s.entries());
  assert_int_equal(s.row.size(), s.entries());
  assert_int_equal(s.values.size(), s.entries() * (s.value_dtype == KNNG_F32 ? 4 : 8));
  Entries found;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    for (std::int64_t e = s.indptr[i]; e < s.indptr[i + 1]; ++e) {
      assert_int_equal(s.row[e], i);
      assert_true(s.col[e] >= 0 && s.col[e] < s.cols);
      if (e > s.indptr[i]) assert_true(s.col[e - 1] < s.col[e]);
      found[{i, s.col[e]}] = stored_value(s, e);
    }
  }
  return found;
}

void assert_entries(const Graph& g, const char* rule, const Entries& wanted) {
  const Sparse s = make_sparse(g, rule);
  assert_int_equal(s.rows, g.rows);
  assert_int_equal(s.cols, g.columns);
  assert_int_equal(s.value_dtype, std::string(rule).starts_with("snn") ? KNNG_F64 : g.value_dtype);
  const Entries found = entries_of(s);
  assert_int_equal(found.size(), wanted.size());
  for (const auto& [at, value] : wanted) {
    const auto it = found.find(at);
    if (it == found.end()) fail_msg("%s: (%d, %d) is missing", rule, int(at.first), int(at.second));
    if (it->second != value)
      fail_msg("%s: (%d, %d) is %g, not %g", rule, int(at.first), int(at.second), it->second, value);
  }
}

// ---- the reference: n^2 and worse, from the definitions

bool lists(const Graph& g, std::int64_t i, std::int64_t j, double* value) {
  for (std::int64_t t = 0; t < g.width; ++t)
    if (g.ids[i * g.width + t] == j) {
      *value = g.value(i * g.width + t);
      return true;
    }
  return false;
}

Entries directed_reference(const Graph& g) {
  Entries wanted;
  double value = 0;
  for (std::int64_t i = 0; i < g.rows; ++i)
    for (std::int64_t j = 0; j < g.columns; ++j)
      if (lists(g, i, j, &value)) wanted[{i, j}] = value;
  return wanted;
}

double combine(const std::string& how, double a, double b) {
  if (how == "max") return a > b ? a : b;
  if (how == "min") return a < b ? a : b;
  if (how == "product") return a * b;
  if (how == "probabilistic") return 1 - (1 - a) * (1 - b);
  return (a + b) / 2;
}

Entries symmetric_reference(const Graph& g, bool mutual, const std::string& how) {
  Entries wanted;
  for (std::int64_t i = 0; i < g.rows; ++i)
    for (std::int64_t j = 0; j < g.rows; ++j) {
      if (i == j) continue;
      double a = 0, b = 0;
      const bool mine = lists(g, i, j, &a), theirs = lists(g, j, i, &b);
      if (mine && theirs)
        wanted[{i, j}] = combine(how, a, b);
      else if (!mutual && (mine || theirs))
        wanted[{i, j}] = mine ? a : b;
    }
  return wanted;
}

// Rank of point s in A(i), or -1.
std::int64_t rank_in(const Graph& g, std::int64_t i, std::int64_t s) {
  if (s == i) return 0;
  std::int64_t rank = 0;
  for (std::int64_t t = 0; t < g.width; ++t) {
    const std::int64_t id = g.ids[i * g.width + t];
    if (id == -1 || id == i) continue;
    ++rank;
    if (id == s) return rank;
  }
  return -1;
}

Entries snn_reference(const Graph& g, const std::string& how) {
  Entries wanted;
  for (std::int64_t i = 0; i < g.rows; ++i)
    for (std::int64_t j = 0; j < g.rows; ++j) {
      if (i == j) continue;
      double shared = 0, either = 0, smallest = HUGE_VAL;
      for (std::int64_t s = 0; s < g.rows; ++s) {
        const std::int64_t a = rank_in(g, i, s), b = rank_in(g, j, s);
        if (a >= 0 || b >= 0) ++either;
        if (a < 0 || b < 0) continue;
        ++shared;
        smallest = std::min(smallest, static_cast<double>(a + b));
      }
      if (shared == 0) continue;
      const double k = static_cast<double>(g.self_first ? g.width - 1 : g.width);
      wanted[{i, j}] = how == "number" ? shared : how == "jaccard" ? shared / either : k - smallest / 2;
    }
  return wanted;
}

void assert_all_rules(const Graph& g) {
  assert_entries(g, "directed", directed_reference(g));
  for (const bool mutual : {false, true}) {
    const std::string name = mutual ? "mutual" : "union";
    assert_entries(g, name.c_str(), symmetric_reference(g, mutual, "mean"));
    for (const std::string how : {"mean", "max", "min", "product"})
      assert_entries(g, (name + ":" + how).c_str(), symmetric_reference(g, mutual, how));
  }
  assert_entries(g, "snn", snn_reference(g, "rank"));
  for (const std::string how : {"rank", "number", "jaccard"})
    assert_entries(g, ("snn:" + how).c_str(), snn_reference(g, how));
}

// ---- tests

// The points 0, 1, 3 and 7 on a line, k = 2.
Graph line() {
  return samples::make_graph({{1, 2}, {0, 2}, {1, 0}, {2, 1}}, {{1, 3}, {1, 2}, {2, 3}, {4, 6}}, KNNG_F32, false);
}

Entries both_ways(const Entries& upper) {
  Entries all = upper;
  for (const auto& [at, value] : upper) all[{at.second, at.first}] = value;
  return all;
}

void four_points(void**) {
  const Graph g = line();
  const Sparse s = make_sparse(g, "directed");
  const std::int64_t indptr[] = {0, 2, 4, 6, 8}, row[] = {0, 0, 1, 1, 2, 2, 3, 3}, col[] = {1, 2, 0, 2, 0, 1, 1, 2};
  const float value[] = {1, 3, 1, 2, 3, 2, 6, 4};
  assert_int_equal(s.entries(), 8);
  assert_memory_equal(s.indptr.data(), indptr, sizeof indptr);
  assert_memory_equal(s.row.data(), row, sizeof row);
  assert_memory_equal(s.col.data(), col, sizeof col);
  assert_memory_equal(s.values.data(), value, sizeof value);

  // 3 lists 1 and 2, which do not list it.
  assert_entries(g, "union", both_ways({{{0, 1}, 1}, {{0, 2}, 3}, {{1, 2}, 2}, {{1, 3}, 6}, {{2, 3}, 4}}));
  assert_entries(g, "union:product", both_ways({{{0, 1}, 1}, {{0, 2}, 9}, {{1, 2}, 4}, {{1, 3}, 6}, {{2, 3}, 4}}));
  assert_entries(g, "mutual", both_ways({{{0, 1}, 1}, {{0, 2}, 3}, {{1, 2}, 2}}));
  assert_entries(g, "snn:number",
                 both_ways({{{0, 1}, 3}, {{0, 2}, 3}, {{1, 2}, 3}, {{0, 3}, 2}, {{1, 3}, 2}, {{2, 3}, 2}}));
  assert_entries(g, "snn:jaccard",
                 both_ways({{{0, 1}, 1}, {{0, 2}, 1}, {{1, 2}, 1}, {{0, 3}, 0.5}, {{1, 3}, 0.5}, {{2, 3}, 0.5}}));
  assert_entries(g, "snn:rank",
                 both_ways({{{0, 1}, 1.5}, {{0, 2}, 1}, {{1, 2}, 1.5}, {{0, 3}, 0.5}, {{1, 3}, 1}, {{2, 3}, 1.5}}));
}

void self_first_changes_only_directed(void**) {
  const Graph plain = line();
  const Graph with = samples::make_graph({{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {3, 2, 1}},
                                         {{0, 1, 3}, {0, 1, 2}, {0, 2, 3}, {0, 4, 6}}, KNNG_F32, true);
  for (const char* rule : {"union", "mutual:max", "snn", "snn:number", "snn:jaccard"})
    assert_true(entries_of(make_sparse(plain, rule)) == entries_of(make_sparse(with, rule)));
  Entries directed = entries_of(make_sparse(plain, "directed"));
  for (std::int64_t i = 0; i < 4; ++i) directed[{i, i}] = 0;
  assert_entries(with, "directed", directed);
}

void two_values_become_one(void**) {
  const Graph g = samples::make_graph({{1}, {0}, {0}}, {{2}, {5}, {7}}, KNNG_F64, false);
  assert_entries(g, "union:mean", both_ways({{{0, 1}, 3.5}, {{0, 2}, 7}}));
  assert_entries(g, "union:max", both_ways({{{0, 1}, 5}, {{0, 2}, 7}}));
  assert_entries(g, "union:min", both_ways({{{0, 1}, 2}, {{0, 2}, 7}}));
  assert_entries(g, "union:product", both_ways({{{0, 1}, 10}, {{0, 2}, 7}}));
  assert_entries(g, "mutual:min", both_ways({{{0, 1}, 2}}));
}

void zeros_are_entries(void**) {
  // 0 and 1 share point 2, which is the last neighbour of both: the weakest pair.
  const Graph g = samples::make_graph({{2}, {2}, {0}}, {{0}, {0}, {0}}, KNNG_F32, false);
  assert_entries(g, "directed", {{{0, 2}, 0}, {{1, 2}, 0}, {{2, 0}, 0}});
  assert_entries(g, "mutual", both_ways({{{0, 2}, 0}}));
  assert_entries(g, "snn", both_ways({{{0, 1}, 0}, {{0, 2}, 0.5}, {{1, 2}, 0.5}}));
}

void rows_without_neighbours(void**) {
  const Graph g =
      samples::make_graph({{-1, -1}, {-1, -1}}, {{HUGE_VAL, HUGE_VAL}, {HUGE_VAL, HUGE_VAL}}, KNNG_F32, false);
  for (const char* rule : {"directed", "union", "mutual", "snn"}) assert_entries(g, rule, {});
  const Graph one = samples::make_graph({{-1}}, {{HUGE_VAL}}, KNNG_F64, false);
  for (const char* rule : {"directed", "union", "mutual", "snn"}) assert_entries(one, rule, {});
}

void random_graphs(void**) {
  std::mt19937 random(20260514);
  for (int round = 0; round < 60; ++round) {
    samples::Shape shape{};
    shape.rows = 2 + static_cast<std::int64_t>(random() % 24);
    shape.k =
        1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(std::min<std::int64_t>(shape.rows - 1, 8)));
    shape.value_dtype = round % 2 ? KNNG_F32 : KNNG_F64;
    shape.self_first = round % 3 == 0;
    shape.stray_self = round % 3 == 1;
    shape.missing = round % 4 ? 0 : 0.3;
    assert_all_rules(samples::random_graph(shape, random));
  }
}

void complete_graph(void**) {
  std::mt19937 random(7);
  assert_all_rules(samples::random_graph({.rows = 12, .columns = 0, .k = 11, .value_dtype = KNNG_F32}, random));
}

void hub(void**) {
  // Everybody lists row 0, and row 0 lists row 1: all pairs share row 0.
  samples::Ids ids(50, {0});
  ids[0] = {1};
  const Graph g = samples::make_graph(ids, samples::Values(50, {1.0}), KNNG_F64, false);
  assert_all_rules(g);
  assert_int_equal(make_sparse(g, "snn").entries(), 50 * 49);
}

void both_sides_have_the_same_bits(void**) {
  // Zeros of both signs are equal, and max and min must not depend on which side asks.
  const Graph g = samples::make_graph({{1}, {0}}, {{0.0}, {-0.0}}, KNNG_F64, false);
  for (const char* rule :
       {"union:mean", "union:max", "union:min", "union:product", "union:probabilistic", "mutual:max"}) {
    const Sparse s = make_sparse(g, rule);
    assert_int_equal(s.entries(), 2);
    assert_memory_equal(s.values.data(), s.values.data() + 8, 8);
  }
}

void means_near_the_largest_number(void**) {
  const double large = 0x1.fffffffffffffp1023;
  const Graph g = samples::make_graph({{1}, {0}}, {{large}, {large}}, KNNG_F64, false);
  assert_entries(g, "union", both_ways({{{0, 1}, large}}));
  // An infinite value that the caller brought along stays one.
  const Graph far = samples::make_graph({{1}, {0}}, {{HUGE_VAL}, {1}}, KNNG_F32, false);
  assert_entries(far, "union", both_ways({{{0, 1}, HUGE_VAL}}));
}

// Memberships in eighths: every way to write the sum is exact.
void probabilistic_sums(void**) {
  const Graph g = samples::make_graph({{1}, {0}, {0}}, {{0.5}, {0.25}, {0.75}}, KNNG_F32, false);
  assert_entries(g, "union:probabilistic", both_ways({{{0, 1}, 0.625}, {{0, 2}, 0.75}}));
  std::mt19937 random(20261016);
  for (int round = 0; round < 20; ++round) {
    Graph many = samples::random_graph({.rows = 14,
                                        .columns = 0,
                                        .k = 5,
                                        .value_dtype = KNNG_F64,
                                        .self_first = round % 3 == 0,
                                        .stray_self = round % 3 == 1,
                                        .missing = round % 4 ? 0 : 0.3},
                                       random);
    auto* values = reinterpret_cast<double*>(many.values.data());
    for (std::int64_t e = 0; e < many.entries(); ++e) values[e] /= 2;
    assert_entries(many, "union:probabilistic", symmetric_reference(many, false, "probabilistic"));
  }
}

void probabilistic_sums_stay_memberships(void**) {
  // 1 + 0.4 is rounded: written as a + b - a b the sum of both is 0.9999999999999999.
  for (const double other : {0.0, 0.4, 0.9, 0x1.fffffffffffffp-1, 1.0}) {
    const Graph g = samples::make_graph({{1}, {0}}, {{other}, {1}}, KNNG_F64, false);
    assert_entries(g, "union:probabilistic", both_ways({{{0, 1}, 1}}));
  }
  std::mt19937 random(5);
  std::uniform_real_distribution<double> membership(0, 1);
  for (int round = 0; round < 1000; ++round) {
    const double a = membership(random), b = membership(random);
    const Sparse s = make_sparse(samples::make_graph({{1}, {0}}, {{a}, {b}}, KNNG_F64, false), "union:probabilistic");
    assert_true(stored_value(s, 0) >= std::max(a, b) && stored_value(s, 0) <= 1);
    assert_memory_equal(s.values.data(), s.values.data() + 8, 8);
  }
}

void values_that_are_no_memberships(void**) {
  const auto refused = [](double value, std::int32_t dtype) {
    const Graph g = samples::make_graph({{1}, {2}, {0}}, {{1}, {0}, {value}}, dtype, false);
    return samples::error_of([&] { make_sparse(g, "union:probabilistic"); });
  };
  const knng_error e = refused(1.5, KNNG_F32);
  assert_int_equal(e.code, KNNG_ERR_DATA);
  assert_string_equal(e.argument, "rule");
  assert_int_equal(e.row, 2);
  assert_int_equal(e.col, 0);
  assert_non_null(std::strstr(e.message, "from 0 to 1, not 1.5"));
  for (const double value : {-0x1p-1074, 0x1.0000000000001p0, HUGE_VAL})
    assert_int_equal(refused(value, KNNG_F64).code, KNNG_ERR_DATA);
  for (const double value : {0.0, -0.0, 0x1p-1074, 1.0}) assert_int_equal(refused(value, KNNG_F64).code, KNNG_OK);
  // What a row has to say about itself is no entry.
  const Graph self = samples::make_graph({{0, 1}, {1, 0}}, {{7, 1}, {7, 0.5}}, KNNG_F64, true);
  assert_entries(self, "union:probabilistic", both_ways({{{0, 1}, 1}}));
}

void combined_values_that_do_not_fit(void**) {
  const auto product = [](double a, double b, std::int32_t dtype) {
    const Graph g = samples::make_graph({{1}, {2}, {1}}, {{1}, {a}, {b}}, dtype, false);
    return samples::error_of([&] { make_sparse(g, "mutual:product"); });
  };
  const knng_error e = product(1e20, 1e20, KNNG_F32);
  assert_int_equal(e.code, KNNG_ERR_RANGE);
  assert_int_equal(e.row, 1);
  assert_int_equal(e.col, 2);
  assert_non_null(std::strstr(e.message, "float32"));
  assert_int_equal(product(1e20, 1e20, KNNG_F64).code, KNNG_OK);
  assert_int_equal(product(1e200, 1e200, KNNG_F64).code, KNNG_ERR_RANGE);
  assert_int_equal(product(0, HUGE_VAL, KNNG_F64).code, KNNG_ERR_RANGE);  // not a number
}

void graphs_of_queries(void**) {
  std::mt19937 random(3);
  const Graph g =
      samples::random_graph({.rows = 5, .columns = 9, .k = 4, .value_dtype = KNNG_F64, .missing = 0.2}, random);
  assert_entries(g, "directed", directed_reference(g));
  for (const char* rule : {"union", "union:max", "mutual", "mutual:product", "snn", "snn:jaccard"}) {
    const knng_error e = samples::error_of([&] { make_sparse(g, rule); });
    assert_int_equal(e.code, KNNG_ERR_STATE);
    assert_string_equal(e.argument, "rule");
    assert_non_null(std::strstr(e.message, rule));
  }
}

void unknown_rules(void**) {
  const Graph g = line();
  for (const char* rule : {"", "Union", "union:", "snn:ranks", "mutual:median", "directed "}) {
    const knng_error e = samples::error_of([&] { make_sparse(g, rule); });
    assert_int_equal(e.code, KNNG_ERR_OPTION);
    assert_non_null(std::strstr(e.message, "directed, union, union:mean"));
    assert_non_null(std::strstr(e.message, "snn:jaccard"));
  }
  const knng_error e = samples::error_of([&] { make_sparse(g, std::string(4000, 'x')); });
  assert_int_equal(e.code, KNNG_ERR_OPTION);
  assert_non_null(std::strstr(e.message, "snn:jaccard"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(four_points),
      cmocka_unit_test(self_first_changes_only_directed),
      cmocka_unit_test(two_values_become_one),
      cmocka_unit_test(zeros_are_entries),
      cmocka_unit_test(rows_without_neighbours),
      cmocka_unit_test(random_graphs),
      cmocka_unit_test(complete_graph),
      cmocka_unit_test(hub),
      cmocka_unit_test(both_sides_have_the_same_bits),
      cmocka_unit_test(means_near_the_largest_number),
      cmocka_unit_test(probabilistic_sums),
      cmocka_unit_test(probabilistic_sums_stay_memberships),
      cmocka_unit_test(values_that_are_no_memberships),
      cmocka_unit_test(combined_values_that_do_not_fit),
      cmocka_unit_test(graphs_of_queries),
      cmocka_unit_test(unknown_rules),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
