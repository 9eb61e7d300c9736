// `low` and what lies above it (docs/internals/error-bound.md, "A number for each pair") under attack, with operands of
// one and two fp16 pieces, of fp32 and of bytes, multiplied in plain code.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cuda/engines/rounding_model.h"
#include "core/dtype.h"
#include "core/float_env.h"
#include "metric/canonical.h"
#include "refine/low_bound.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

// Bytes whose scale has room for the largest value, and those that cut most of what is beyond a quarter of it off.
enum class Precision { fp16, two_piece, fp32, bytes, cut_bytes };
constexpr Precision kPrecisions[] = {Precision::fp16, Precision::two_piece, Precision::fp32, Precision::bytes,
                                     Precision::cut_bytes};
constexpr bool are_bytes(Precision p) { return p == Precision::bytes || p == Precision::cut_bytes; }
using Row = std::vector<double>;

float to_fp16(double x) { return static_cast<float>(to_double(half_from_double(x))); }
float round_up(double x) { return -round_down(-x); }

struct Point {
  std::vector<float> high, low;  // pieces
  OperandSums sums;
  float term = 0, bound = 0;
  double integer_term = 0;
};

struct Filter {
  Filter(const char* name, const std::vector<Row>& rows, Precision p) : metric(find_metric(name, 2)), precision(p) {
    const std::size_t d = rows.front().size();
    double largest = 0;
    for (const Row& row : rows)
      for (const double u : row) largest = std::max(largest, std::fabs(u));
    const int exponent = std::clamp((are_bytes(p) ? 5 : 13) - (largest > 0 ? std::ilogb(largest) : 0),
                                    -LowBound::kLargestExponent, LowBound::kLargestExponent - 3);
    factor = std::ldexp(p == Precision::bytes ? 1.75 : p == Precision::cut_bytes ? 7.0 : 1.0, exponent);
    double rho = LowBound::kSmallestRatio, longest = 0;
    for (const Row& row : rows) {
      points.push_back(make_point(row));
      const OperandSums& sums = points.back().sums;
      const double ratio = std::sqrt(sums.residual / sums.square);
      longest = std::max(longest, LowBound::length(sums, static_cast<std::int64_t>(d)));
      if (are_bytes(p) && ratio > 0) rho = rho == LowBound::kSmallestRatio ? ratio : std::min(rho, ratio);
      if (ratio <= (p == Precision::fp16 ? 0x1p-11 : p == Precision::fp32 ? 0x1p-24 : 0x1p-22))
        rho = std::max(rho, ratio);
    }
    const auto dim = static_cast<std::int64_t>(d);
    const ProductUnit unit = are_bytes(p) ? cuda::kByteUnit : fp32_unit(p == Precision::two_piece ? 3 * dim : dim);
    const LowBound bound(metric, dim, factor, unit, {rho, longest});
    scale = bound.scale();
    for (Point& point : points) {
      point.bound = round_up(bound.bound(point.sums));
      const double term = bound.term(point.sums, static_cast<double>(point.bound));
      point.integer_term = std::floor(term);
      point.term = round_down(term);
    }
  }

  Point make_point(const Row& row) const {
    Point point;
    for (const double u : row) {
      const double x = u * factor;
      const float a = are_bytes(precision)           ? static_cast<float>(std::clamp(std::nearbyint(x), -127.0, 127.0))
                      : precision == Precision::fp32 ? static_cast<float>(x)
                                                     : to_fp16(x);
      const float b = precision == Precision::two_piece ? to_fp16(x - static_cast<double>(a)) : 0.0f;
      const double left = x - static_cast<double>(a) - static_cast<double>(b);
      point.high.push_back(a);
      point.low.push_back(b);
      point.sums.square += x * x;
      point.sums.residual += left * left;
      point.sums.piece += static_cast<double>(b) * static_cast<double>(b);
    }
    return point;
  }

  float product(const Point& p, const Point& q) const {
    float acc = 0;
    const auto add = [&](const std::vector<float>& a, const std::vector<float>& b) {
      for (std::size_t t = 0; t < a.size(); ++t) acc = std::fma(a[t], b[t], acc);
    };
    add(p.high, q.high);
    if (precision == Precision::two_piece) {
      add(p.high, q.low);
      add(p.low, q.high);
    }
    return acc;
  }

  float low(const Point& p, const Point& q) const {
    if (!are_bytes(precision)) return std::fma(-2.0f, product(p, q), p.term + q.term);
    return round_down(p.integer_term + q.integer_term - 2 * static_cast<double>(product(p, q)));
  }

  const Metric metric;
  const Precision precision;
  double factor = 1, scale = 1;
  std::vector<Point> points;
};

struct Attack {
  double reached = 0;  // share of the bound that the error of low + b takes
  std::int64_t violations = 0;
};

Attack attack(const Filter& filter, const std::vector<Row>& rows) {
  Attack worst;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const Point &p = filter.points[i], &q = filter.points[j];
      const float low = filter.low(p, q);
      const double key = canonical_key(filter.metric, rows[i], rows[j]) * filter.scale;
      const double width = static_cast<double>(p.bound) + static_cast<double>(q.bound);
      const double above = static_cast<double>(low) + 2 * width;
      if (!(static_cast<double>(low) <= key && key <= above)) ++worst.violations;
      if (width > 0) worst.reached = std::max(worst.reached, std::fabs(static_cast<double>(low) + width - key) / width);
    }
  return worst;
}

std::vector<Row> random_rows(std::size_t n, std::size_t d, std::uint64_t seed, double (*value)(values::Random&)) {
  values::Random random(seed);
  std::vector<Row> rows(n, Row(d));
  for (Row& row : rows)
    for (double& u : row) u = value(random);
  return rows;
}

struct Kind {
  const char* name;
  double (*value)(values::Random&);
};
const Kind kKinds[] = {
    {"signed", [](values::Random& r) { return r.uniform(); }},
    {"positive", [](values::Random& r) { return std::fabs(r.uniform()); }},
    {"integers", [](values::Random& r) { return static_cast<double>(r.below(256)); }},
    {"range", [](values::Random& r) { return std::ldexp(r.uniform(), static_cast<int>(r.below(60)) - 30); }},
    {"tiny", [](values::Random& r) { return 1e-200 * r.uniform(); }},
    {"huge", [](values::Random& r) { return 1e150 * r.uniform(); }},
    {"far", [](values::Random& r) { return 1e6 + r.uniform(); }},
    {"half ulps", [](values::Random& r) { return (r.below(2) ? 1 : -1) * (1 + 0x1p-11 - 0x1p-30); }},
};

void keys_lie_within(void**) {
  for (const Kind& kind : kKinds)
    for (const char* metric : {"sqeuclidean", "hellinger", "inner_product"})
      for (const std::size_t d : {1UL, 2UL, 3UL, 33UL, 784UL})
        for (const Precision precision : kPrecisions) {
          std::vector<Row> rows = random_rows(12, d, 7 + d, kind.value);
          rows.push_back(rows.front());
          rows.push_back(Row(d, 0.0));
          rows.push_back(rows[1]);
          rows.back().back() *= 1 + 0x1p-12;
          rows.push_back(Row(d, std::fabs(rows[2][0]) * 1e-9));
          const Attack worst = attack(Filter(metric, rows, precision), rows);
          if (worst.violations > 0)
            fail_msg("%s, %s, d = %zu, precision %d: %lld violations", kind.name, metric, d,
                     static_cast<int>(precision), static_cast<long long>(worst.violations));
        }
}

// One outlier of 2^40 times the others' size leaves those without digits: they count as longer, and it is proved.
void an_outlier_loosens_but_never_breaks(void**) {
  for (const Precision precision : kPrecisions) {
    std::vector<Row> rows = random_rows(10, 20, 3, [](values::Random& r) { return r.uniform(); });
    rows.push_back(Row(20, 0x1p40));
    assert_int_equal(attack(Filter("sqeuclidean", rows, precision), rows).violations, 0);
  }
}

void reaches_and_holds(const std::vector<Row>& rows, const char* metric, Precision precision, double least) {
  const Attack worst = attack(Filter(metric, rows, precision), rows);
  assert_int_equal(worst.violations, 0);
  print_message("%s, precision %d: %.3f\n", metric, static_cast<int>(precision), worst.reached);
  if (worst.reached < least)
    fail_msg("%s, precision %d: the attack reached %g", metric, static_cast<int>(precision), worst.reached);
}

void attacks_come_close(void**) {
  for (const char* metric : {"sqeuclidean", "inner_product"}) {
    // Values that all lose nearly half an ulp in the same direction: operands.
    reaches_and_holds({2, Row(64, 1 + 0x1p-11 - 0x1p-40)}, metric, Precision::fp16, 0.98);
    // One large product, then many that are lost beside it: accumulation.
    Row row(2000, 0x1p-12 * (1 - 0x1p-10));
    row.front() = 1;
    reaches_and_holds({row, row}, metric, Precision::two_piece, 0.3);
    reaches_and_holds({row, row}, metric, Precision::fp32, 0.98);
  }
}

// Rows that are bytes, so that nothing but terms is rounded.
void terms_of_bytes_are_rounded_down(void**) {
  const std::vector<Row> rows =
      random_rows(40, 2, 11, [](values::Random& r) { return static_cast<double>(r.below(9)) - 4; });
  reaches_and_holds(rows, "sqeuclidean", Precision::bytes, 0.99);
}

// ---- constants, each with the others out of the way

// Two canonical rows whose operands are exact, in one piece or in two, and what a unit's product is off by.
struct Pair {
  Row x, y, x_second, y_second;  // without second pieces, or they are parts of x and y
  double lost = 0;
  int exponent = 0;
  double residual = 0, residual_of_y = residual;  // operands are longer than the rows by so much
};
// The largest share of width(i) + width(j) that low is off by, to either side of the middle. No pair may exceed it.
double share_of(const LowBound& bound, const Metric& metric, Pair pair) {
  const double key = canonical_key(metric, pair.x, pair.y) * bound.scale();
  pair.x_second.resize(pair.x.size());
  pair.y_second.resize(pair.y.size());
  for (Row* row : {&pair.x, &pair.y, &pair.x_second, &pair.y_second})
    for (double& value : *row) value = std::ldexp(value, pair.exponent);
  OperandSums p, q;
  double product = pair.lost;
  for (std::size_t t = 0; t < pair.x.size(); ++t) {
    p.square += pair.x[t] * pair.x[t];
    q.square += pair.y[t] * pair.y[t];
    p.piece += pair.x_second[t] * pair.x_second[t];
    q.piece += pair.y_second[t] * pair.y_second[t];
    product +=
        (1 + pair.residual) * (1 + pair.residual_of_y) * pair.x[t] * pair.y[t] - pair.x_second[t] * pair.y_second[t];
  }
  p.residual = pair.residual * pair.residual * p.square;
  q.residual = pair.residual_of_y * pair.residual_of_y * q.square;
  const auto acc = static_cast<float>(product);
  if (static_cast<double>(acc) != product) return 0;
  const float b_p = round_up(bound.bound(p)), b_q = round_up(bound.bound(q));
  const float t_p = round_down(bound.term(p, static_cast<double>(b_p)));
  const float t_q = round_down(bound.term(q, static_cast<double>(b_q)));
  const auto low = static_cast<double>(std::fma(-2.0f, acc, t_p + t_q));
  const double width = static_cast<double>(b_p) + static_cast<double>(b_q);
  assert_true(low <= key && key <= low + 2 * width);
  return std::fabs(low + width - key) / width;
}
constexpr LowBound::Rounding kNoRounding = {0x1p-40};  // any is right; a small one leaves the other constants alone

// With operands and products without error, what is left are the roundings of t, of the sum and of low. They can use 5
// of 8 f.
void roundings_of_low_use_half_of_8_f(void**) {
  const FloatEnv env;
  values::Random random(47);
  const Metric metric = find_metric("sqeuclidean", 2);
  for (const std::int64_t d : {1, 2}) {
    const LowBound bound(metric, d, 1, {0, 0}, kNoRounding);
    double reached = 0;
    for (int trial = 0; trial < 200'000; ++trial) {
      Pair pair;
      // Lengths just above 1 or just below, where the spacing of numbers is largest or the sum of two changes it.
      for (std::int64_t t = 0; t < d; ++t) {
        const double size = t == 0 ? 0x1p-12 : 0x1p-18;
        pair.x.push_back(std::nearbyint(random.uniform(0.9, 1.1) * 4096) * size);
        pair.y.push_back(std::nearbyint(random.uniform(0.9, 1.1) * 2048) * 2 * size * (random.below(2) ? 1 : -1));
      }
      reached = std::max(reached, share_of(bound, metric, pair));
    }
    print_message("low's roundings, d = %lld: %.3f of 8 f\n", static_cast<long long>(d), reached);
    assert_true(reached >= 0.45);
  }
}

// Bounds far larger than the points: what single precision does to them is in the factor 1 + 2^-20.
void large_bounds_need_their_factor(void**) {
  const FloatEnv env;
  values::Random random(53);
  const Metric metric = find_metric("sqeuclidean", 2);
  double reached = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    const double x = std::nearbyint(random.uniform() * 4096) * 0x1p-17,
                 y = std::nearbyint(random.uniform() * 4096) * 0x1p-17;
    const double side = random.below(2) ? 1 : -1;
    const double eta = 1 - side * x * y;  // all of it is lost: the unit's result is 1 or -1
    const LowBound bound(metric, 1, 1, {0, eta}, kNoRounding);
    reached = std::max(reached, share_of(bound, metric, {{x}, {y}, {}, {}, side * eta}));
  }
  print_message("bounds larger than the points: %.9f\n", reached);
  assert_true(reached >= 1 - 0x1p-20);
}

// Operands that rounding has made longer by a quarter, and a unit that loses half of their lengths.
void coarse_operands_use_their_bound(void**) {
  const FloatEnv env;
  const Metric metric = find_metric("sqeuclidean", 2);
  constexpr double kRho = 0x1p-2, kGamma = 0x1p-1;
  const auto reached = [&](double gamma, const Pair& pair) {
    return share_of(LowBound(metric, 1, 1, {gamma, 0}, {kRho}), metric, pair);
  };
  // The canonical key is 0 or the largest; products are too large.
  for (const double side : {1.0, -1.0}) {
    assert_true(reached(0, {{1}, {side}, {}, {}, 0, 0, kRho}) >= 0.99);
    assert_true(reached(kGamma, {{1}, {side}, {}, {}, side * kGamma * 1.25 * 1.25, 0, kRho}) >= 0.99);
  }
  // Points that lost more than most, beside a longest one that lost nothing.
  for (const double side : {1.0, -1.0}) {
    const LowBound bound(metric, 1, 1, {0, 0}, {0x1p-10, 1});
    assert_true(share_of(bound, metric, {{0x1p-4}, {side}, {}, {}, 0, 0, 0.5, 0}) >= 0.99);
  }
  share_of(LowBound(metric, 1, 1, {0, 0}, {kRho / 8}), metric, {{1}, {1}, {}, {}, 0, 0, kRho});
}

// Pieces far coarser than those of fp16: the product that is left out, and terms that are larger than the points.
void products_of_pieces_use_their_bound(void**) {
  const FloatEnv env;
  const Metric metric = find_metric("sqeuclidean", 2);
  for (const double lambda : {0x1p-2, 0x1p-4, 0x1p-6}) {
    const LowBound left_out(metric, 1, 1, {0, 0}, kNoRounding);
    for (const double side : {1.0, -1.0}) {
      const double reached = share_of(left_out, metric, {{1}, {side}, {lambda}, {side * lambda}});
      assert_true(reached >= 0.99);
    }
    // First pieces longer than the points, and a unit that loses a quarter of the magnitudes of its terms.
    constexpr double kGamma = 0x1p-2;
    const double first = 1 + lambda, magnitudes = first * first + 2 * first * lambda;
    const LowBound all(metric, 1, 1, {kGamma, 0}, kNoRounding);
    const double reached = share_of(all, metric, {{1}, {1}, {-lambda}, {-lambda}, -kGamma * magnitudes});
    print_message("pieces of %g: %.3f\n", lambda, reached);
    assert_true(reached >= 0.97);
  }
}

// Keys that underflow to 0 although the operands' products do not.
void keys_may_vanish(void**) {
  const FloatEnv env;
  const Metric metric = find_metric("sqeuclidean", 2);
  const LowBound bound(metric, 20'000, std::ldexp(1.0, LowBound::kLargestExponent), {0, 0}, kNoRounding);
  const Row x(20'000, 0x1p-538), y(20'000, 0.0);
  assert_true(canonical_key(metric, x, y) == 0);
  share_of(bound, metric, {x, y, {}, {}, 0, LowBound::kLargestExponent});
}

// A tenth of the bound is not enough for them: a lowered constant shows.
void a_lowered_bound_breaks(void**) {
  const std::vector<Row> rows(2, Row(64, 1 + 0x1p-11 - 0x1p-40));
  for (const char* metric : {"sqeuclidean", "inner_product"}) {
    Filter filter(metric, rows, Precision::fp16);
    for (Point& p : filter.points) {
      p.term += 0.9f * p.bound;
      p.bound *= 0.1f;
    }
    assert_true(attack(filter, rows).violations > 0);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(keys_lie_within),
      cmocka_unit_test(an_outlier_loosens_but_never_breaks),
      cmocka_unit_test(attacks_come_close),
      cmocka_unit_test(terms_of_bytes_are_rounded_down),
      cmocka_unit_test(roundings_of_low_use_half_of_8_f),
      cmocka_unit_test(large_bounds_need_their_factor),
      cmocka_unit_test(coarse_operands_use_their_bound),
      cmocka_unit_test(products_of_pieces_use_their_bound),
      cmocka_unit_test(keys_may_vanish),
      cmocka_unit_test(a_lowered_bound_breaks),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
