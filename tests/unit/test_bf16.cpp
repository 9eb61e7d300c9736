// The bfloat16 filter: its units' error bounds under attack, what a lowered constant breaks, and the same lists as the
// fp32 filter and the direct engine on data of every kind. Which tiles run depends on the processor; with none the
// program is skipped.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/bf16_tile.h"
#include "backend/cpu/direct_engine.h"
#include "backend/cpu/filter_choice.h"
#include "backend/cpu/fused_engine.h"
#include "backend/cpu/product_filter.h"
#include "bf16_points.h"
#include "core/float_env.h"
#include "filter_products.h"
#include "points.h"

#include "harness/cmocka.h"

using namespace libknng;
using points::make_rows;
using points::Rows;
using values::kInfinity;

namespace {

using Row = std::vector<float>;
constexpr std::int64_t kDims[] = {1, 2, 3, 31, 32, 33, 64, 784, 2000, 20000};

// All products of some points with others.
std::vector<float> products(const FilterTile& tile, const std::vector<Row>& rows, const std::vector<Row>& columns) {
  const Bf16Points a(rows), b(columns);
  const auto n = static_cast<std::int64_t>(rows.size()), m = static_cast<std::int64_t>(columns.size());
  return filter_products(tile, a.rows.data(), n, b.panels.data(), m, a.dim);
}

// ---- the product

// Rows whose products with themselves or each other lose what a unit can lose: 1 swallows everything of 2^-24.
std::vector<Row> attacks(std::int64_t d) {
  values::Random random(static_cast<std::uint64_t>(d));
  std::vector<Row> all;
  const auto attack = [&](auto value) {
    Row row;
    for (std::int64_t t = 0; t < d; ++t) row.push_back(rounded_to_bf16(value(t)));
    all.push_back(row);
  };
  attack([](std::int64_t t) { return t == 0 ? 1.0 : 0x1p-12; });
  attack([](std::int64_t t) { return t == 0 ? -1.0 : 0x1p-12; });
  attack([d](std::int64_t t) { return t == d - 1 ? 1.0 : 0x1p-12; });
  // Even coordinates of the first 32, then one of each 32: each is an addition of its own in a tile.
  attack([](std::int64_t t) { return t == 0 ? 1.0 : (t < 32 ? t % 2 == 0 : t % 32 == 0) ? 0x1p-12 : 0.0; });
  attack([](std::int64_t t) { return t == 0 ? 1.0 : (t < 32 ? t % 2 == 0 : t % 32 == 0) ? 0x1.8p-12 : 0.0; });
  attack([](std::int64_t t) { return 1 + 0x1p-7 * static_cast<double>(t % 128); });
  attack([](std::int64_t t) { return (t % 2 == 0 ? 1 : -1) * (1 + 0x1p-7 * static_cast<double>(t % 13)); });
  attack([&](std::int64_t) { return std::ldexp(random.uniform(), -static_cast<int>(random.below(120))); });
  attack([](std::int64_t) { return 0x1p-63 * (1 - 0x1p-8); });  // products that are flushed
  attack([&](std::int64_t) { return points::normal(random); });
  return all;
}

void products_stay_within_the_bound(void**) {
  const FloatEnv env;
  for (const FilterTile* tile : bf16_tiles()) {
    for (const std::int64_t d : kDims) {
      const std::vector<Row> rows = attacks(d);
      const std::vector<float> found = products(*tile, rows, rows);
      long double worst = 0;
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < rows.size(); ++j) {
          const ProductTruth truth(rows[i], rows[j], tile->unit(d));
          const long double ratio = truth.ratio(found[i * rows.size() + j]);
          if (!(ratio <= 1))
            print_error("%s, d %lld, %zu x %zu: %.4Lf of the bound\n", tile->target, static_cast<long long>(d), i, j,
                        ratio);
          assert_true(ratio <= 1);
          worst = std::max(worst, ratio);
        }
      print_message("%s, d = %lld: the worst product uses %.4Lf of its bound\n", tile->target,
                    static_cast<long long>(d), worst);
      assert_true(worst >= 0.7L);
    }
  }
}

// Products just below the smallest normal number are lost, and with them most of eta.
void flushed_products_use_most_of_eta(void**) {
  const FloatEnv env;
  for (const FilterTile* tile : bf16_tiles())
    for (const std::int64_t d : kDims) {
      // 2^-126 (1 - 2^-8)
      const Row a(static_cast<std::size_t>(d), 0x1p-63f), b(static_cast<std::size_t>(d), rounded_to_bf16(0x1.fep-64));
      const float found = products(*tile, {a}, {b}).front();
      const long double ratio = ProductTruth(a, b, tile->unit(d)).ratio(found);
      if (d == 1) assert_true(found == 0);
      assert_true(ratio <= 1);
      if (d == 1) assert_true(ratio >= 0.7L);
    }
}

// Equal rows whose product loses almost all that gamma allows: with a smaller gamma the check notices.
void a_lowered_gamma_is_noticed(void**) {
  const FloatEnv env;
  for (const FilterTile* tile : bf16_tiles())
    for (const std::int64_t d : {std::int64_t{32}, std::int64_t{2000}}) {
      const ProductUnit unit = tile->unit(d);
      for (const char* name : {"euclidean", "cosine", "inner_product"}) {
        const Metric metric = find_metric(name, 2);
        int noticed = 0, lost = 0;
        for (const Row& row : attacks(d)) {
          double square = 0;
          for (const float value : row) square += static_cast<double>(value) * static_cast<double>(value);
          const OperandNorms norms = operand_norms(square, 0, square, d);
          const double key = metric.term == Term::product ? -square : 0.0;
          const float product = products(*tile, {row}, {row}).front();
          for (const double share : {1.0, 0.3}) {
            const KeyBound bound(metric, d, 0, {unit.gamma * share, unit.eta});
            const bool kept = product - bound.half(norms) >= bound.threshold(norms, key, {norms.upper, norms.residual});
            const bool holds = bound.holds(norms, norms, product, key);
            if (share == 1) assert_true(kept && holds);
            lost += share < 1 && !kept;
            noticed += share < 1 && !holds;
          }
        }
        assert_true(lost > 0 && noticed > 0);
      }
    }
}

// ---- operands

// Operands are bfloat16 without denormals, alike on both sides, and their residuals are measured.
void operands_are_measured(void**) {
  const FloatEnv env;
  points::Call call;
  values::Random random(3);
  const Rows raw = make_rows("mixed", 70, 37, [&](std::int64_t i, std::int64_t t) {
    return std::ldexp(points::normal(random), t == 0 ? 0 : -static_cast<int>(random.below(i % 2 == 0 ? 5 : 140)));
  });
  const Dataset data = points::stored(KNNG_F64, raw);
  for (const char* name : {"sqeuclidean", "inner_product", "cosine"}) {
    const Metric metric = find_metric(name, 2);
    const CanonicalRows rows(data, metric, call.team, nullptr, call.monitor, "rows");
    const FilterFrame frame = FilterFrame::of(metric, rows, rows, call.team, nullptr, call.monitor);
    const KeyBound bound(metric, raw.d, frame.exponent, bf16_vector_unit(raw.d));
    const FilterOperands operands(metric, rows, frame, bound, OperandType::bf16, call.team, nullptr, call.monitor);
    const auto* of_rows = static_cast<const std::uint16_t*>(operands.rows());
    const auto* panels = static_cast<const std::uint16_t*>(operands.panels());
    const std::int64_t depth = bf16_depth(raw.d);
    std::vector<double> u(static_cast<std::size_t>(raw.d));
    for (std::int64_t i = 0; i < raw.n; ++i) {
      rows.load(i, u.data());
      long double off = 0, square = 0;
      for (std::int64_t t = 0; t < depth; ++t) {
        const std::uint16_t bits = of_rows[i * depth + t];
        assert_int_equal(
            bits,
            panels[i / kFilterPanel * kFilterPanel * depth + (t / 2 * kFilterPanel + i % kFilterPanel) * 2 + t % 2]);
        assert_true((bits & 0x7f80) != 0 || (bits & 0x7fff) == 0);
        if (t >= raw.d) {
          assert_int_equal(bits, 0);
          continue;
        }
        const long double a = std::bit_cast<float>(std::uint32_t{bits} << 16);
        const double shift = metric.term == Term::product ? 0.0 : frame.centre[t];
        const long double x =
            std::ldexp(static_cast<long double>(u[static_cast<std::size_t>(t)]) - shift, frame.exponent);
        // Half of the last of eight bits, or everything below the smallest number.
        assert_true(std::fabs(x - a) <= std::max(std::fabs(x) * 0x1.01p-8L, 0x1p-126L));
        off += (x - a) * (x - a);
        square += a * a;
      }
      const OperandNorms& norms = operands.norms(i);
      assert_true(std::sqrt(off) <= static_cast<long double>(norms.residual));
      assert_true(static_cast<long double>(norms.residual) <= std::sqrt(off) * 1.0001L + 0x1p-45L);
      assert_true(static_cast<long double>(norms.lower) <= square && square <= static_cast<long double>(norms.upper));
    }
  }
}

// ---- graphs

struct Lists {
  std::vector<Neighbour> entries;
  std::vector<bool> tied;
  CpuCounts counts;
};

struct Job {
  std::int64_t k;
  TileGrid grid;
  int threads;
  const std::int64_t* leave_out = nullptr;
};

template <class Run>
Lists lists_of(const CanonicalRows& rows, const CanonicalRows& columns, const Metric& metric, const Job& job,
               Run&& run) {
  points::Call call;
  ThreadTeam team(job.threads);
  const CpuProblem problem{rows, columns, metric, job.grid, team, {job.grid.square, job.leave_out}};
  NeighbourLists lists(rows.rows(), job.k, nullptr);
  Lists found;
  found.counts = run(problem, lists, call.monitor);
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const Neighbour* list = lists.sort(i);
    found.entries.insert(found.entries.end(), list, list + job.k);
    found.tied.push_back(lists.tied(i));
  }
  return found;
}

// Every filter of this processor; returns the share of pairs that the first bfloat16 filter evaluated.
double check(const char* name, const Metric& metric, const Dataset& data, const Dataset* queries, const Job& job) {
  points::Call call;
  const CanonicalRows columns(data, metric, call.team, nullptr, call.monitor, "rows");
  std::optional<CanonicalRows> asked;
  if (queries) asked.emplace(*queries, metric, call.team, nullptr, call.monitor, "q");
  const CanonicalRows& rows = queries ? *asked : columns;
  const Lists expected =
      lists_of(rows, columns, metric, job, [](const CpuProblem& p, NeighbourLists& lists, Monitor& monitor) {
        return run_direct(p, lists, nullptr, monitor);
      });
  std::vector<ProductArithmetic> all = {fp32_arithmetic()};
  for (const FilterTile* tile : bf16_tiles()) all.push_back({tile, OperandType::bf16});
  double share = -1;
  for (const ProductArithmetic& arithmetic : all) {
    const Lists found =
        lists_of(rows, columns, metric, job, [&](const CpuProblem& p, NeighbourLists& lists, Monitor& monitor) {
          FilterFrame frame = FilterFrame::of(metric, columns, rows, call.team, nullptr, monitor);
          const auto filter = make_product_filter(p, arithmetic, std::move(frame), nullptr, monitor);
          return run_fused_with(p, *filter, lists, nullptr, monitor);
        });
    const bool same =
        std::memcmp(found.entries.data(), expected.entries.data(), found.entries.size() * sizeof(Neighbour)) == 0 &&
        found.tied == expected.tied;
    if (!same || found.counts.violations != 0)
      print_error("%s, %s, %s: k %lld, %lld violations\n", arithmetic.tile->target, name, metric.name,
                  static_cast<long long>(job.k), static_cast<long long>(found.counts.violations));
    assert_true(same);
    assert_int_equal(found.counts.violations, 0);
    if (arithmetic.type == OperandType::bf16 && share < 0)
      share = static_cast<double>(found.counts.keys) / job.grid.pairs();
  }
  return share;
}

Rows fit_for(const Metric& metric, Rows rows) {
  if (refuses_negative(metric.transform))
    for (double& value : rows.values) value = std::fabs(value);
  return rows;
}

void every_filter_gives_the_same_lists(void**) {
  values::Random random(13);
  std::vector<Rows> all;
  all.push_back(make_rows("gaussian", 500, 70, [&](std::int64_t, std::int64_t) { return points::normal(random); }));
  all.push_back(make_rows("offset", 300, 33, [&](std::int64_t, std::int64_t) { return 1e4 + points::normal(random); }));
  all.push_back(make_rows("grid", 300, 5, [&](std::int64_t, std::int64_t) { return double(random.below(3)); }));
  all.push_back(make_rows("zero and constant rows", 290, 12, [&](std::int64_t i, std::int64_t) {
    return i % 10 == 4 ? 0.0 : i % 10 == 5 ? 0.1 : points::normal(random);
  }));
  all.push_back(make_rows("all equal", 200, 6, [](std::int64_t, std::int64_t t) { return 0.1 * double(t + 1); }));
  Rows twice = make_rows("duplicates", 300, 40, [&](std::int64_t, std::int64_t) { return points::normal(random); });
  for (std::int64_t i = 100; i < 300; ++i)
    for (std::int64_t t = 0; t < twice.d; ++t) twice(i, t) = twice(i % 100, t);
  all.push_back(twice);
  all.push_back(make_rows("far outlier", 300, 16,
                          [&](std::int64_t i, std::int64_t) { return i == 77 ? 1e9 : points::normal(random); }));
  all.push_back(make_rows("small among large", 200, 34, [&](std::int64_t i, std::int64_t) {
    return std::ldexp(points::normal(random), i % 50 == 0 ? 60 : -100);
  }));
  for (const std::int64_t n : {2, 47, 48, 49, 97, 145})
    all.push_back(make_rows("edge", n, 31 + n % 3, [&](std::int64_t, std::int64_t) { return points::normal(random); }));
  int turn = 0;
  for (const Rows& raw : all)
    for (const Metric& metric : metrics()) {
      if (metric.term != Term::squared_difference && metric.term != Term::product) continue;
      const Rows rows = fit_for(metric, raw);
      const Dataset data = points::stored(++turn % 2 == 0 ? KNNG_F32 : KNNG_F64, rows);
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{10}, rows.n - 1}) {
        if (k >= rows.n) continue;
        const std::int64_t sizes[][2] = {{48, 48}, {96, 144}, {50, 37}, {512, 512}};
        const auto& size = sizes[++turn % 4];
        check(raw.name, metric, data, nullptr, {k, {rows.n, rows.n, size[0], size[1], true}, 1 + turn % 3});
      }
    }
}

void queries(void**) {
  values::Random random(17);
  const Rows raw = make_rows("queries", 400, 50, [&](std::int64_t, std::int64_t) { return points::normal(random); });
  const Rows others =
      make_rows("asked", 90, 50, [&](std::int64_t, std::int64_t) { return 2 * points::normal(random); });
  std::vector<std::int64_t> leave_out;
  for (std::int64_t i = 0; i < others.n; ++i) leave_out.push_back(i % 3 == 0 ? -1 : random.below(raw.n));
  for (const char* name : {"euclidean", "cosine", "inner_product", "hellinger"}) {
    const Metric metric = find_metric(name, 2);
    const Dataset data = points::stored(KNNG_F32, fit_for(metric, raw));
    const Dataset asked = points::stored(KNNG_F64, fit_for(metric, others));
    for (const std::int64_t k : {1, 20})
      check("queries", metric, data, &asked, {k, {others.n, raw.n, 48, 96, false}, 2, leave_out.data()});
  }
}

// Where it is meant for, little is let through; where rows are nearer to each other than bfloat16 can tell, fp32 is
// chosen.
void the_choice_follows_the_data(void**) {
  values::Random random(23);
  const Rows wide = make_rows("gaussian", 3000, 64, [&](std::int64_t, std::int64_t) { return points::normal(random); });
  const Rows centres = make_rows("", 10, 64, [&](std::int64_t, std::int64_t) { return points::normal(random); });
  const Rows tight = make_rows("tight blobs", 3000, 64, [&](std::int64_t i, std::int64_t t) {
    return centres.values[static_cast<std::size_t>(i % 10 * 64 + t)] + 1e-2 * points::normal(random);
  });
  const Metric metric = find_metric("sqeuclidean", 2);
  for (const Rows* rows : {&wide, &tight}) {
    points::Call call;
    const Dataset data = points::stored(KNNG_F32, *rows);
    const CanonicalRows canonical(data, metric, call.team, nullptr, call.monitor, "rows");
    const TileGrid grid{rows->n, rows->n, 96, 96, true};
    const CpuProblem problem{canonical, canonical, metric, grid, call.team, {.square = true}};
    const FilterFrame frame = FilterFrame::of(metric, canonical, canonical, call.team, nullptr, call.monitor);
    for (const FilterTile* tile : bf16_tiles())
      assert_int_equal(bf16_pays(problem, 10, frame, *fp32_arithmetic().tile, *tile, nullptr), rows == &wide);
    // A sample of few pairs costs more than it saves.
    const CpuProblem few{canonical, canonical, metric, {1000, 1000, 96, 96, true}, call.team, {.square = true}};
    for (const FilterTile* tile : bf16_tiles())
      assert_false(bf16_pays(few, 10, frame, *fp32_arithmetic().tile, *tile, nullptr));
  }
  const double share =
      check("gaussian", metric, points::stored(KNNG_F32, wide), nullptr, {5, {3000, 3000, 96, 96, true}, 1});
  print_message("%.2f %% of the pairs evaluated\n", 100 * share);
  assert_true(share < 0.1);
}

}  // namespace

int main() {
  ask_for_matrix_tiles();
  if (bf16_tiles().empty()) {
    std::puts("skipped: this processor has no bfloat16 products");
    return 77;
  }
  const CMUnitTest tests[] = {
      cmocka_unit_test(products_stay_within_the_bound),    cmocka_unit_test(flushed_products_use_most_of_eta),
      cmocka_unit_test(a_lowered_gamma_is_noticed),        cmocka_unit_test(operands_are_measured),
      cmocka_unit_test(every_filter_gives_the_same_lists), cmocka_unit_test(queries),
      cmocka_unit_test(the_choice_follows_the_data),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
