// The bound of the filter (docs/internals/error-bound.md) under attack, through the filter's own kernels: products
// against exact arithmetic, what is measured of operands, what a threshold may leave out, what a lowered constant
// breaks.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/filter_tile.h"
#include "core/division.h"
#include "filter_products.h"
#include "metric/canonical.h"
#include "points.h"
#include "prepare/filter_operands.h"
#include "refine/bound.h"

#include "harness/cmocka.h"

using namespace libknng;
using points::make_rows;
using points::Rows;
using values::kInfinity;

namespace {

constexpr float kTakesAll = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kDims[] = {1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 33, 784, 2000, 20000};

// ---- through the kernels

using Row = std::vector<float>;

std::vector<float> panels_of(const std::vector<Row>& rows) {
  const std::size_t d = rows.front().size(), panel = kFilterPanel;
  std::vector<float> panels((rows.size() + panel - 1) / panel * panel * d);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t t = 0; t < d; ++t) panels[(i / panel * d + t) * panel + i % panel] = rows[i][t];
  return panels;
}

// Everything that the fp32 filter knows of a data set.
struct Prepared {
  Prepared(const Metric& m, std::int32_t dtype, const Rows& rows)
      : metric(m),
        data(points::stored(dtype, rows)),
        points(data, metric, call.team, nullptr, call.monitor, "rows"),
        frame(FilterFrame::of(metric, points, points, call.team, nullptr, call.monitor)),
        bound(metric, rows.d, frame.exponent, fp32_unit(rows.d)),
        operands(metric, points, frame, bound, OperandType::fp32, call.team, nullptr, call.monitor) {}

  std::vector<double> row(std::int64_t i) const {
    std::vector<double> u(static_cast<std::size_t>(points.dim()));
    points.load(i, u.data());
    return u;
  }
  const float* panels() const { return static_cast<const float*>(operands.panels()); }
  float operand(std::int64_t i, std::int64_t t) const {
    return panels()[(i / kFilterPanel * points.dim() + t) * kFilterPanel + i % kFilterPanel];
  }

  points::Call call;
  Metric metric;
  Dataset data;
  CanonicalRows points;
  FilterFrame frame;
  KeyBound bound;
  FilterOperands operands;
};

// ---- the product

struct Attack {
  const char* name;
  Row a, b;
};

std::vector<Attack> attacks(std::int64_t d) {
  values::Random random(static_cast<std::uint64_t>(d));
  std::vector<Attack> all;
  const auto attack = [&](const char* name, auto a, auto b) {
    Attack made{name, {}, {}};
    for (std::int64_t t = 0; t < d; ++t) {
      made.a.push_back(static_cast<float>(a(t)));
      made.b.push_back(static_cast<float>(b(t)));
    }
    all.push_back(made);
  };
  const auto both = [&](const char* name, auto a) { attack(name, a, a); };
  both("one rounding of a product", [](std::int64_t t) { return t == 0 ? 1 + 0x1p-12 : 0.0; });
  both("ties to even swallow all but the first", [](std::int64_t t) { return t == 0 ? 1.0 : 0x1p-12; });
  both("each operation loses a tie", [](std::int64_t t) { return t == 0 ? 1 + 0x1p-12 : 0x1p-12; });
  both("swallowed", [](std::int64_t t) { return t == 0 ? 1.0 : 0x1p-12 * (1 - 0x1p-24); });
  attack(
      "every addition rounds up", [](std::int64_t t) { return t == 0 ? 1.0 : 0x1p-12; },
      [](std::int64_t t) { return t == 0 ? 1.0 : 0x1p-12 * (1 + 0x1p-12); });
  attack(
      "every addition rounds away below 0", [](std::int64_t t) { return t == 0 ? -1.0 : -0x1p-12; },
      [](std::int64_t t) { return t == 0 ? 1.0 : 0x1p-12 * (1 + 0x1p-12); });
  attack(
      "what was swallowed remains", [](std::int64_t t) { return t == 0 ? 1.0 : 0x1p-12; },
      [d](std::int64_t t) { return t == 0       ? 1.0
                                   : t == d - 1 ? -0x1p12
                                                : 0x1p-12; });
  both("the largest last", [d](std::int64_t t) { return t == d - 1 ? 1.0 : 0x1p-12; });
  both("above powers of two", [](std::int64_t t) { return 1 + 0x1p-23 * static_cast<double>(t % 4096 + 1); });
  attack(
      "signs by turns", [](std::int64_t t) { return t % 2 == 0 ? 1 + 0x1p-12 : -1 - 0x1p-11; },
      [](std::int64_t t) { return 1 + 0x1p-13 * static_cast<double>(t % 3); });
  const auto wide = [&](std::int64_t) { return std::ldexp(random.uniform(), -static_cast<int>(random.below(140))); };
  attack("every magnitude", wide, wide);
  both("half of the smallest number, less a little", [](std::int64_t) { return 0x1p-75 * (1 - 0x1p-20); });
  both("half of the smallest number, and a little", [](std::int64_t) { return 0x1p-75 * (1 + 0x1p-20); });
  both("denormal operands", [&](std::int64_t) { return std::ldexp(random.uniform(), -140); });
  const auto gaussian = [&](std::int64_t) { return points::normal(random); };
  attack("gaussian", gaussian, gaussian);
  return all;
}

void products_stay_within_the_bound(void**) {
  const FloatEnv env;
  for (const std::int64_t d : kDims) {
    const std::vector<Attack> all = attacks(d);
    std::vector<Row> rows, columns;
    for (const Attack& attack : all) {
      rows.push_back(attack.a);
      columns.push_back(attack.b);
    }
    const auto n = static_cast<std::int64_t>(all.size());
    const std::vector<float> a = panels_of(rows), b = panels_of(columns);
    std::vector<ProductTruth> truths;
    for (const Row& row : rows)
      for (const Row& column : columns) truths.emplace_back(row, column, fp32_unit(d));
    for (const FilterTile* tile : filter_tiles()) {
      const std::vector<float> found = filter_products(*tile, a.data(), n, b.data(), n, d);
      long double worst = 0;
      for (std::size_t pair = 0; pair < found.size(); ++pair) {
        const long double ratio = truths[pair].ratio(found[pair]);
        if (!(ratio <= 1))
          print_error("%s, d %lld, '%s' x '%s': %.4Lf of the bound\n", tile->target, static_cast<long long>(d),
                      all[pair / all.size()].name, all[pair % all.size()].name, ratio);
        assert_true(ratio <= 1);
        worst = std::max(worst, ratio);
      }
      print_message("%s, d = %lld: the worst product uses %.4Lf of its bound\n", tile->target,
                    static_cast<long long>(d), worst);
      // An attack that does not come near is none.
      assert_true(worst >= 0.95L);
    }
  }
}

// The part of the bound for underflow, by itself.
void vanishing_products_use_half_of_eta(void**) {
  const FloatEnv env;
  for (const std::int64_t d : kDims) {
    const Row row(static_cast<std::size_t>(d), static_cast<float>(0x1p-75 * (1 - 0x1p-20)));
    const std::vector<float> panels = panels_of({row});
    for (const FilterTile* tile : filter_tiles()) {
      assert_float_equal(filter_products(*tile, panels.data(), 1, panels.data(), 1, d).front(), 0, 0);
      const long double lost = ProductTruth(row, row, fp32_unit(d)).product.value() / fp32_unit(d).eta;
      assert_true(0.49L < lost && lost <= 1);
    }
  }
}

// ---- data

// Hellinger takes no negative value.
Rows fit_for(const Metric& metric, Rows rows) {
  const double limit = largest_magnitude(metric, rows.d);
  for (double& value : rows.values) {
    if (refuses_negative(metric.transform)) value = std::fabs(value);
    value = std::clamp(value, -limit, limit);
  }
  return rows;
}

std::vector<Metric> product_metrics() {
  std::vector<Metric> all;
  for (const Metric& m : metrics())
    if (m.term == Term::squared_difference || m.term == Term::product) all.push_back(m);
  all.push_back(find_metric("minkowski", 2));
  return all;
}

// ---- what is measured

// Norms and residuals cover the exact ones and are not far from them. Long double has 11 bits more than the fp64 sums.
void measurements_cover_the_operands(void**) {
  for (const Metric& metric : product_metrics()) {
    for (const Rows& raw : points::nasty_rows()) {
      const Prepared p(metric, KNNG_F64, fit_for(metric, raw));
      const bool shifted = metric.term != Term::product;
      for (std::int64_t i = 0; i < raw.n; ++i) {
        long double square = 0, off = 0, size = 0;
        const std::vector<double> u = p.row(i);
        for (std::int64_t t = 0; t < raw.d; ++t) {
          const auto at = static_cast<std::size_t>(t);
          const long double centre = shifted ? p.frame.centre[at] : 0.0;
          const long double x = std::ldexp(u[at] - centre, p.frame.exponent), a = p.operand(i, t);
          assert_true(std::fabs(x) < 2.0001L && std::fabs(a) <= 2);
          square += a * a;
          off += (x - a) * (x - a);
          size += x * x;
        }
        off = std::sqrt(off);
        const OperandNorms& n = p.operands.norms(i);
        assert_true(static_cast<long double>(n.lower) <= square && square <= static_cast<long double>(n.upper));
        assert_true(square - static_cast<long double>(n.lower) <= square * 0x1p-35L);
        assert_true(static_cast<long double>(n.upper) - square <= square * 0x1p-35L + 0x1p-1000L);
        assert_true(off <= static_cast<long double>(n.residual));
        assert_true(static_cast<long double>(n.residual) - off <=
                    off * 0x1p-35L + std::sqrt(size) * 0x1p-51L + 0x1p-499L);
        const float half = p.operands.halves()[i];
        assert_true(p.points.directionless(i) ? half == kInfinity : half <= std::sqrt(square) * std::sqrt(square) / 2);
      }
      for (std::int64_t i = raw.n; i < round_up(raw.n, kFilterPanel); ++i)
        assert_true(p.operands.halves()[i] == std::numeric_limits<float>::infinity());
    }
  }
}

// Sums of fp64 whose every operation rounds in one direction: 1, then numbers of half an ulp of it or just less, which
// are lost, or just more, which count as a whole one.
void canonical_sums_use_their_bound(void**) {
  const FloatEnv env;
  const Metric metric = find_metric("sqeuclidean", 2);
  for (const std::int64_t d : {1, 2, 8, 31, 32, 33, 64, 784, 20000}) {
    long double worst = 0;
    for (const bool above : {true, false}) {
      // 2^-53 more or less as a square, in the lane of the first coordinate, and once in each lane that folds into it.
      const double root = above ? 0x1.6a09e8p-27 : 0x1.6a09e4p-27;
      std::vector<double> u(static_cast<std::size_t>(d)), v(u);
      // Its difference from -2^-53 or so is rounded too.
      u[0] = 1;
      v[0] = above ? -0x1.01p-53 : -0x1.ffp-54;
      for (std::int64_t t = 1; t < d; ++t)
        if (t % 32 == 0 || (t < 32 && (t & (t - 1)) == 0)) u[static_cast<std::size_t>(t)] = root;
      ExactSum exact;
      for (std::size_t t = 0; t < u.size(); ++t)
        // (a - b)^2 as numbers that fp64 holds: roots have 24 bits.
        for (const double part : {u[t] * u[t], -2 * u[t] * v[t], v[t] * v[t]}) exact.add(part);
      const long double key = canonical_key(metric, u, v), truth = exact.value();
      ExactSum error = exact;
      error.add(-static_cast<double>(key));
      const long double share = std::fabs(error.value()) / truth / key_error(d);
      if (!(share <= 1)) fail_msg("d = %lld: %.4Lf of the key's bound", static_cast<long long>(d), share);
      worst = std::max(worst, share);
    }
    print_message("canonical sums, d = %lld: %.4Lf of their bound\n", static_cast<long long>(d), worst);
    // Each rounding is counted with twice of what it is.
    assert_true(worst >= (d < 32 ? 0.1L : d < 1000 ? 0.2L : 0.4L));
  }
}

void measured_sums_use_half_of_their_bound(void**) {
  const FloatEnv env;
  for (const std::int64_t d : {2, 8, 784, 20000})
    for (const bool above : {true, false}) {
      const double square = above ? 0x1.01p-53 : 0x1.ffp-54;
      double sum = 1;
      ExactSum exact;
      exact.add(1);
      for (std::int64_t t = 1; t < d; ++t) {
        sum += square;
        exact.add(square);
      }
      const OperandNorms norms = operand_norms(sum, sum, 0, d);
      const long double truth = exact.value();
      assert_true(norms.lower <= truth && truth <= norms.upper && std::sqrt(truth) <= norms.residual);
      const long double share = std::fabs(sum - truth) / ((d + 4) * 0x1p-52L);
      assert_true(share >= (d < 100 ? 0.07L : 0.45L));
    }
}

// The centre takes half an ulp from each coordinate, and what is left is exact in fp32.
void rounded_differences_use_half_of_their_bound(void**) {
  const FloatEnv env;
  const double centre = -0x1p-53 * (1 - 0x1p-50);
  const Rows raw = make_rows("off centre", 9, 5, [=](std::int64_t i, std::int64_t) { return i == 3 ? 1.0 : centre; });
  const Prepared p(find_metric("sqeuclidean", 2), KNNG_F64, raw);
  assert_true(p.frame.centre[0] == centre && p.operand(3, 0) == 1);
  const long double off = std::sqrt(5.0L) * 0x1p-53L * (1 - 0x1p-50L), residual = p.operands.norms(3).residual;
  assert_true(off <= residual && off >= 0.49L * residual);
}

// Rows so much smaller than the largest that all squares underflow, and their operands are 0.
void vanishing_rows_keep_a_residual(void**) {
  const FloatEnv env;
  const Rows raw = make_rows("vanishing", 9, 2000, [](std::int64_t i, std::int64_t) {
    return i == 3 ? 1.0 : i < 3 ? 0 : 0x1p-538;
  });
  const Prepared p(find_metric("inner_product", 2), KNNG_F64, raw);
  assert_true(p.operand(5, 0) == 0);
  assert_true(std::sqrt(2000.0L) * 0x1p-538L <= p.operands.norms(5).residual);
}

// ---- what is left out

// The survivor test of the tile: fp32 throughout.
bool survives(float product, float half, float threshold) { return product - half >= threshold; }

// For every list and every cut-off that can occur, all pairs up to it survive, whatever block the partner stands in.
void nothing_that_belongs_is_left_out(void**) {
  const FloatEnv env;
  for (const Metric& metric : product_metrics()) {
    for (const Rows& raw : points::nasty_rows()) {
      const Prepared p(metric, KNNG_F64, fit_for(metric, raw));
      std::vector<std::vector<double>> rows;
      for (std::int64_t i = 0; i < raw.n; ++i) rows.push_back(p.row(i));
      std::vector<double> keys(static_cast<std::size_t>(raw.n * raw.n)), cutoffs;
      KeyBound::Others all;
      for (std::int64_t i = 0; i < raw.n; ++i) {
        if (p.points.directionless(i)) continue;
        all.upper = std::max(all.upper, p.operands.norms(i).upper);
        all.residual = std::max(all.residual, p.operands.norms(i).residual);
        for (std::int64_t j = 0; j < i; ++j) {
          const double key =
              canonical_key(metric, rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(j)]);
          keys[static_cast<std::size_t>(i * raw.n + j)] = keys[static_cast<std::size_t>(j * raw.n + i)] = key;
          if (!p.points.directionless(j)) cutoffs.push_back(key);
        }
      }
      std::sort(cutoffs.begin(), cutoffs.end());
      cutoffs.erase(std::unique(cutoffs.begin(), cutoffs.end()), cutoffs.end());

      for (const FilterTile* tile : filter_tiles()) {
        const std::vector<float> found = filter_products(*tile, p.panels(), raw.n, p.panels(), raw.n, raw.d);
        const auto lost = [&](std::int64_t i, std::int64_t j, const char* what) {
          print_error("%s, %s, %s, d %lld, pair (%lld, %lld): %s\n", tile->target, metric.name, raw.name,
                      static_cast<long long>(raw.d), static_cast<long long>(i), static_cast<long long>(j), what);
          return false;
        };
        for (std::int64_t i = 0; i < raw.n; ++i) {
          if (p.points.directionless(i)) continue;
          const OperandNorms& norms = p.operands.norms(i);
          std::vector<std::int64_t> others;
          for (std::int64_t j = 0; j < raw.n; ++j)
            if (j != i && !p.points.directionless(j)) others.push_back(j);
          const auto key = [&](std::int64_t j) { return keys[static_cast<std::size_t>(i * raw.n + j)]; };
          const auto product = [&](std::int64_t j) { return found[static_cast<std::size_t>(i * raw.n + j)]; };
          for (const std::int64_t j : others) {
            assert_true(p.bound.holds(norms, p.operands.norms(j), product(j), key(j)) ||
                        lost(i, j, "outside its bounds"));
            const KeyBound::Others alone{p.operands.norms(j).upper, p.operands.norms(j).residual};
            assert_true(survives(product(j), p.operands.halves()[j], p.bound.threshold(norms, key(j), alone)) ||
                        lost(i, j, "left out, alone in its block"));
          }
          // By ascending key; the smallest difference so far speaks for all up to a cut-off.
          std::sort(others.begin(), others.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
          std::size_t next = 0;
          std::int64_t least = -1;
          for (const double cutoff : cutoffs) {
            for (; next < others.size() && key(others[next]) <= cutoff; ++next)
              if (const std::int64_t j = others[next];
                  least < 0 || product(j) - p.operands.halves()[j] < product(least) - p.operands.halves()[least])
                least = j;
            if (least >= 0)
              assert_true(survives(product(least), p.operands.halves()[least], p.bound.threshold(norms, cutoff, all)) ||
                          lost(i, least, "left out"));
          }
        }
      }
    }
  }
}

void an_open_list_takes_all(void**) {
  for (const Metric& metric : product_metrics()) {
    const KeyBound bound(metric, 10, 0, fp32_unit(10));
    assert_true(bound.threshold({1, 1, 0}, kInfinity, {1, 0}) == kTakesAll);
  }
}

// A bound that is not a number claims nothing.
void rounding_down(void**) {
  const FloatEnv env;
  const double cases[] = {0,        1,        -1,        0.1,        -0.1,    1 + 0x1p-24, -1 - 0x1p-24,
                          0x1p-149, 0x1p-150, -0x1p-150, -0x1p-1074, FLT_MAX, -FLT_MAX};
  for (const double x : cases) {
    const float down = round_down(x);
    assert_true(static_cast<double>(down) <= x);
    assert_true(static_cast<double>(std::nextafter(down, std::numeric_limits<float>::infinity())) > x);
  }
  assert_true(round_down(1e300) == FLT_MAX && round_down(kInfinity) == FLT_MAX);
  assert_true(round_down(-1e300) == kTakesAll && round_down(-kInfinity) == kTakesAll);
  assert_true(round_down(std::numeric_limits<double>::quiet_NaN()) == kTakesAll);
}

// ---- the constants carry weight

// Equal rows whose product loses almost all that gamma allows: with a smaller gamma the pair with key 0 is lost, and
// the check notices.
void a_lowered_gamma_is_noticed(void**) {
  const FloatEnv env;
  constexpr std::int64_t d = 2000;
  Row row(d, 0x1p-12f);
  row[0] = 1;
  const double square = 1 + (d - 1) * 0x1p-24;
  const std::vector<float> panels = panels_of({row});
  const ProductUnit unit = fp32_unit(d);
  for (const char* name : {"euclidean", "cosine", "inner_product"}) {
    const Metric metric = find_metric(name, 2);
    const OperandNorms norms = operand_norms(square, 0, square, d);
    const double key = metric.term == Term::product ? -square : 0.0;
    for (const FilterTile* tile : filter_tiles()) {
      const float product = filter_products(*tile, panels.data(), 1, panels.data(), 1, d).front();
      for (const double share : {1.0, 0.9, 0.5, 0.2}) {
        const KeyBound bound(metric, d, 0, {unit.gamma * share, unit.eta});
        const float threshold = bound.threshold(norms, key, {norms.upper, norms.residual});
        assert_int_equal(survives(product, bound.half(norms), threshold), share == 1);
        assert_int_equal(bound.holds(norms, norms, product, key), share == 1);
      }
    }
  }
}

// Rounded to 8 bits, far more coarsely than fp32: residuals are then most of a bound.
double coarse(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

// The residual of either point counts: without it pairs are lost, and the check notices.
void forgotten_residuals_are_noticed(void**) {
  const FloatEnv env;
  values::Random random(19);
  std::vector<double> points;
  for (int i = 0; i < 60; ++i) points.push_back(std::copysign(1, random.uniform()) * (1 + std::fabs(random.uniform())));
  for (const char* name : {"sqeuclidean", "inner_product"}) {
    const Metric metric = find_metric(name, 2);
    const KeyBound bound(metric, 1, 0, fp32_unit(1));
    int lost_i = 0, lost_j = 0, noticed_i = 0, noticed_j = 0;
    for (const double u : points) {
      for (const double v : points) {
        const double a = coarse(u), b = coarse(v), key = canonical_key(metric, {&u, 1}, {&v, 1});
        const auto product = static_cast<float>(a) * static_cast<float>(b);
        const auto passes = [&](const OperandNorms& i, const OperandNorms& j) {
          return survives(product, bound.half(j), bound.threshold(i, key, {j.upper, j.residual}));
        };
        const OperandNorms i = operand_norms(a * a, (u - a) * (u - a), u * u, 1);
        const OperandNorms j = operand_norms(b * b, (v - b) * (v - b), v * v, 1);
        const OperandNorms exact_i{i.lower, i.upper, 0}, exact_j{j.lower, j.upper, 0};
        assert_true(passes(i, j) && bound.holds(i, j, product, key));
        lost_i += !passes(exact_i, j);
        lost_j += !passes(i, exact_j);
        noticed_i += !bound.holds(exact_i, j, product, key);
        noticed_j += !bound.holds(i, exact_j, product, key);
      }
    }
    for (const int count : {lost_i, lost_j, noticed_i, noticed_j}) assert_true(count > 100);
  }
}

// Where norms are known less well, a pair is left out less easily.
void norms_count_by_their_safe_side(void**) {
  const OperandNorms known{1, 1, 0.25}, vague{1, 2, 0.25};
  for (const Metric& metric : product_metrics()) {
    const KeyBound bound(metric, 10, 0, fp32_unit(10));
    assert_true(bound.half(vague) <= 0.5f);
    for (const double key : {-0.5, 0.0, 0.5}) {
      if (key < 0 && metric.term != Term::product) continue;
      assert_true(bound.threshold(vague, key, {1, 0}) <= bound.threshold(known, key, {1, 0}));
      assert_true(bound.threshold(known, key, {2, 0}) <= bound.threshold(known, key, {1, 0}));
    }
  }
}

// Two candidates of one list: by approximate keys the first is nearer, and it is left out; the second seems further,
// and belongs. What is left out says nothing about what could not be left out, because every pair has a bound of its
// own.
void the_nearest_left_out_is_not_the_dangerous_one(void**) {
  const FloatEnv env;
  constexpr std::int64_t d = 1000;
  const Metric metric = find_metric("inner_product", 2);
  Row list(d, 0x1p-12f), harmless(d, 0), dangerous(d, 0x1p-12f);
  list[0] = dangerous[0] = list[d - 1] = 1;
  dangerous[d - 1] = -1 + 0x1p-10f;  // 998 products of 2^-24 are swallowed before this one takes 1 away
  harmless[0] = 0x1p-10f + 500 * 0x1p-24f;
  const std::vector<Row> rows = {list, harmless, dangerous};
  const std::vector<float> panels = panels_of(rows);
  std::vector<OperandNorms> norms;
  std::vector<double> keys;
  for (const Row& row : rows) {
    const double square = static_cast<double>(ProductTruth(row, row, fp32_unit(d)).product.value());
    norms.push_back(operand_norms(square, 0, square, d));
    keys.push_back(static_cast<double>(-ProductTruth(list, row, fp32_unit(d)).product.value()));
  }
  const double cutoff = keys[2];
  assert_true(keys[1] > cutoff);
  const KeyBound bound(metric, d, 0, fp32_unit(d));
  for (const FilterTile* tile : filter_tiles()) {
    const std::vector<float> found = filter_products(*tile, panels.data(), 3, panels.data(), 3, d);
    assert_true(-found[1] < -found[2]);
    const auto kept = [&](std::size_t j) {
      return survives(found[j], bound.half(norms[j]),
                      bound.threshold(norms[0], cutoff, {norms[j].upper, norms[j].residual}));
    };
    assert_false(kept(1));
    assert_true(kept(2));
  }
}

// ---- sharpness

// A filter that leaves nothing out is sound as well.
void pairs_beyond_the_cutoff_are_left_out(void**) {
  const FloatEnv env;
  constexpr std::int64_t n = 480, d = 128, k = 10;
  values::Random random(3);
  for (const char* name : {"euclidean", "cosine", "inner_product"}) {
    const Prepared p(find_metric(name, 2), KNNG_F32,
                     make_rows("gaussian", n, d, [&](std::int64_t, std::int64_t) { return points::normal(random); }));
    const std::vector<float> found = filter_products(*filter_tiles().front(), p.panels(), n, p.panels(), n, d);
    KeyBound::Others all;
    std::vector<std::vector<double>> rows;
    for (std::int64_t i = 0; i < n; ++i) {
      all.upper = std::max(all.upper, p.operands.norms(i).upper);
      all.residual = std::max(all.residual, p.operands.norms(i).residual);
      rows.push_back(p.row(i));
    }
    std::int64_t beyond = 0, beyond_kept = 0, far = 0, far_kept = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<double> keys, sorted;
      for (std::int64_t j = 0; j < n; ++j)
        keys.push_back(
            i == j ? kInfinity
                   : canonical_key(p.metric, rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(j)]));
      sorted = keys;
      std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end());
      const double cutoff = sorted[k - 1];
      const float threshold = p.bound.threshold(p.operands.norms(i), cutoff, all);
      for (std::int64_t j = 0; j < n; ++j) {
        const double key = keys[static_cast<std::size_t>(j)];
        if (j == i || key <= cutoff) continue;
        const bool kept = survives(found[static_cast<std::size_t>(i * n + j)], p.operands.halves()[j], threshold);
        beyond += 1;
        beyond_kept += kept;
        if (key <= cutoff + 0.01 * std::fabs(cutoff)) continue;
        far += 1;
        far_kept += kept;
      }
    }
    print_message("%s, d = %lld: %lld of %lld pairs beyond the cut-off survive, %lld of %lld beyond 1.01 of it\n", name,
                  static_cast<long long>(d), static_cast<long long>(beyond_kept), static_cast<long long>(beyond),
                  static_cast<long long>(far_kept), static_cast<long long>(far));
    assert_true(far > n * n / 2);
    assert_true(static_cast<double>(far_kept) < 0.01 * static_cast<double>(far));
    assert_true(static_cast<double>(beyond_kept) < 0.01 * static_cast<double>(beyond));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(products_stay_within_the_bound),
      cmocka_unit_test(vanishing_products_use_half_of_eta),
      cmocka_unit_test(measurements_cover_the_operands),
      cmocka_unit_test(canonical_sums_use_their_bound),
      cmocka_unit_test(measured_sums_use_half_of_their_bound),
      cmocka_unit_test(rounded_differences_use_half_of_their_bound),
      cmocka_unit_test(vanishing_rows_keep_a_residual),
      cmocka_unit_test(nothing_that_belongs_is_left_out),
      cmocka_unit_test(an_open_list_takes_all),
      cmocka_unit_test(rounding_down),
      cmocka_unit_test(a_lowered_gamma_is_noticed),
      cmocka_unit_test(forgotten_residuals_are_noticed),
      cmocka_unit_test(norms_count_by_their_safe_side),
      cmocka_unit_test(the_nearest_left_out_is_not_the_dangerous_one),
      cmocka_unit_test(pairs_beyond_the_cutoff_are_left_out),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
