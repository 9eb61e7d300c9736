// Sums without products in single precision (docs/internals/error-bound.md, "Sums without products") under attack: the
// terms as devices add them, with approximations that are as wrong as is allowed, against canonical keys.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "core/float_env.h"
#include "metric/canonical.h"
#include "refine/bound.h"
#include "refine/sum_bound.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

using Row = std::vector<float>;

// The float furthest from a number, to one side, of those that are within `error` of it.
float furthest(double exact, double error, int side) {
  const auto y = static_cast<float>(exact + side * error);
  if (std::fabs(static_cast<double>(y) - exact) <= error) return y;
  return std::nextafter(y, static_cast<float>(exact));
}

// Approximations as wrong as they may be (backend/cuda/engines/sum_units.cuh), to one side. Powers below 2^-126 become
// 0.
template <int kSide>
struct WorstUnits {
  static constexpr double kError = 0x1p-22;
  static float reciprocal(float x) {
    return furthest(1 / static_cast<double>(x), kError / static_cast<double>(x), kSide);
  }
  static float log2(float x) {
    const double exact = std::log2(static_cast<double>(x));
    return std::isfinite(exact) ? furthest(exact, kError * (1 + std::fabs(exact)), kSide) : static_cast<float>(exact);
  }
  static float exp2(float x) {
    const double exact = std::exp2(static_cast<double>(x));
    const float y = furthest(exact, kError * exact, kSide);
    return y < 0x1p-126F ? 0.0f : y;
  }
};

template <class Units>
float sum_of(const Metric& metric, const Row& x, const Row& y) {
  float sum = 0;
  visit_sum_term(metric.term, [&](auto term) {
    using T = decltype(term);
    float s[T::kSums] = {};
    for (std::size_t t = 0; t < x.size(); ++t) T::template add<Units>(s, x[t], y[t], static_cast<float>(metric.p));
    sum = T::finish(s);
  });
  return sum;
}

ValueRange range_of(const std::vector<Row>& rows) {
  ValueRange range;
  for (const Row& row : rows)
    for (const float value : row) {
      range.largest = std::max(range.largest, std::fabs(value));
      if (value != 0) range.smallest = std::min(range.smallest, std::fabs(value));
    }
  return range;
}

std::vector<double> widened(const Row& row) { return {row.begin(), row.end()}; }

struct Attack {
  double reached = 0;  // share of what the sum may be off by
  std::int64_t violations = 0;
};

Attack attack(const Metric& metric, const std::vector<Row>& rows, const SumError& error) {
  const FloatEnv env;
  const SumBound bound(error);
  Attack worst;
  for (const Row& x : rows)
    for (const Row& y : rows) {
      const double key = canonical_key(metric, widened(x), widened(y));
      for (const float sum : {sum_of<WorstUnits<-1>>(metric, x, y), sum_of<WorstUnits<0>>(metric, x, y),
                              sum_of<WorstUnits<1>>(metric, x, y)}) {
        const float low = bound.low(sum), up = bound.up(low);
        if (!(static_cast<double>(low) <= key && key <= static_cast<double>(up))) ++worst.violations;
        const double allowed = error.gamma * key + error.eta;
        if (allowed > 0 && std::isfinite(allowed) && std::isfinite(sum))
          worst.reached = std::max(worst.reached, std::fabs(static_cast<double>(sum) - key) / allowed);
      }
    }
  return worst;
}

Attack attack(const Metric& metric, const std::vector<Row>& rows) {
  return attack(metric, rows, sum_error(metric, static_cast<std::int64_t>(rows.front().size()), range_of(rows)));
}

std::vector<Metric> sum_metrics() {
  std::vector<Metric> all;
  for (const Metric& m : metrics()) {
    if (!has_sum_term(m.term)) continue;
    if (m.term == Term::power_difference)
      for (const double p : {0.01, 0.5, 1.5, 3.0, 12.25, 1000.0}) all.push_back(find_metric(m.name, p));
    else
      all.push_back(m);
  }
  return all;
}

struct Kind {
  const char* name;
  float (*value)(values::Random&);
};
float scaled(values::Random& r, int exponent) { return static_cast<float>(std::ldexp(r.uniform(), exponent)); }
const Kind kKinds[] = {
    {"signed", [](values::Random& r) { return scaled(r, 0); }},
    {"positive", [](values::Random& r) { return std::fabs(scaled(r, 0)); }},
    {"integers", [](values::Random& r) { return static_cast<float>(r.below(256)); }},
    {"range", [](values::Random& r) { return scaled(r, static_cast<int>(r.below(60)) - 30); }},
    {"every magnitude", [](values::Random& r) { return scaled(r, static_cast<int>(r.below(270)) - 148); }},
    {"tiny", [](values::Random& r) { return scaled(r, -100); }},
    {"denormal", [](values::Random& r) { return scaled(r, -140); }},
    {"huge", [](values::Random& r) { return scaled(r, 100); }},
    {"largest", [](values::Random& r) { return r.below(2) ? FLT_MAX : -FLT_MAX; }},
    {"far", [](values::Random& r) { return 1e6f + scaled(r, 0); }},
    {"sparse", [](values::Random& r) { return r.below(4) ? 0.0f : scaled(r, 0); }},
    {"opposite", [](values::Random& r) { return r.below(2) ? 3.0f : -3.0f; }},
};

void keys_lie_within(void**) {
  for (const Kind& kind : kKinds)
    for (const Metric& metric : sum_metrics())
      for (const std::size_t d : {1UL, 2UL, 3UL, 33UL, 784UL}) {
        values::Random random(7 + d);
        std::vector<Row> rows(10, Row(d));
        for (Row& row : rows)
          for (float& value : row) value = kind.value(random);
        rows.push_back(rows.front());
        rows.push_back(Row(d, 0.0f));
        rows.push_back(rows[1]);
        for (float& value : rows.back()) value = -value;
        rows.push_back(rows[2]);
        rows.back().back() = std::nextafter(rows.back().back(), 0.0f);
        const Attack worst = attack(metric, rows);
        if (worst.violations > 0)
          fail_msg("%s, %s p=%g, d = %zu: %lld violations", kind.name, metric.name, metric.p, d,
                   static_cast<long long>(worst.violations));
      }
}

// Two rows whose differences, sums and additions all round in one direction, by nearly all that they can: the first
// difference is 1 and just above or below half an ulp, and what is added to it is just above half an ulp, which rounds
// up, or just below, which is lost. `places` moves the first sum, of which canberra takes the reciprocal.
std::vector<Row> hard_rows(const Metric& metric, std::size_t d, bool above, int places = 1) {
  const float sign = above ? 1.0f : -1.0f, step = 0x1p-24f * (1 + sign * 0x1p-10f);
  Row x(d, step), y(d, 0.0f);
  x.front() = 1;
  y.front() = -step;
  switch (metric.term) {
    // The lower sum loses where the upper gains.
    case Term::bray_curtis:
      for (std::size_t t = 1; t < d; ++t) {
        x[t] = 0x1p-24f;
        y[t] = -sign * 0x1p-34f;
      }
      [[fallthrough]];
    // The difference gains where the sum loses; then ratios of 2^-24, more or less.
    case Term::canberra:
      x.front() = 1 + 0x1p-23f * static_cast<float>(places);
      y.front() = 0x1p-24f * (1 - sign * 0x1p-10f);
      if (metric.term == Term::bray_curtis) break;
      for (std::size_t t = 1; t < d; ++t) {
        x[t] = above ? 0.95f : 1.01f;
        y[t] = x[t] - 0x1p-23f;
      }
      break;
    // Powers of these sizes; what approximations do to them is less than by how much they are above or below.
    case Term::power_difference:
      for (float& value : x) value = static_cast<float>(std::pow(static_cast<double>(value), 1 / metric.p));
      y.front() = 0;
      break;
    default: break;
  }
  return {x, y};
}

// What an attack must reach of the roundings that sum_bound.cpp counts: all but the one for the key's own error;
// minkowski: the additions alone (powers_come_close() has the rest); canberra: but the one by which its reciprocal
// counts for more than it is either, and that of a product near 1.
double within_reach(const Metric& metric, double d) {
  switch (metric.term) {
    case Term::largest_difference: return 1.0 / 2;
    case Term::canberra: return (d + 5) / (d + 8);
    case Term::bray_curtis: return 2 * d / (2 * d + 2);
    case Term::power_difference: return (d - 1) / (d + 625 * metric.p + 7);
    default: return d / (d + 1);
  }
}

void attacks_come_close(void**) {
  for (const Metric& metric : sum_metrics()) {
    if (metric.term == Term::power_difference && metric.p != 1.5) continue;
    for (const std::size_t d : {1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 7UL, 8UL, 200UL, 20000UL}) {
      double reached = 0;
      for (const bool above : {true, false})
        for (int places = 1; places < (d <= 8 ? 5000 : 2); places += 97) {
          const Attack worst = attack(metric, hard_rows(metric, d, above, places));
          assert_int_equal(worst.violations, 0);
          assert_true(worst.reached <= 1);
          reached = std::max(reached, worst.reached);
        }
      print_message("%s, d = %zu: an attack reaches %.3f\n", metric.name, d, reached);
      if (reached < 0.95 * within_reach(metric, static_cast<double>(d)))
        fail_msg("%s, d = %zu: the attack reached %g", metric.name, d, reached);
    }
  }
}

// Differences of few smallest numbers, whose logarithms are as long as they get, to powers that p's rounding and the
// product's move in the direction of the approximations.
void powers_come_close(void**) {
  values::Random random(41);
  for (const std::size_t d : {1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 7UL, 8UL, 200UL}) {
    double reached = 0;
    for (int trial = 0; trial < (d > 8 ? 300 : 3000); ++trial) {
      const Metric metric = find_metric("minkowski", random.uniform(0.5, 0.502));
      const Row x(d, static_cast<float>(1 + random.below(16)) * 0x1p-149f), y(d, 0.0f);
      const Attack worst = attack(metric, {x, y});
      assert_int_equal(worst.violations, 0);
      assert_true(worst.reached <= 1);
      reached = std::max(reached, worst.reached);
    }
    print_message("minkowski, d = %zu: an attack reaches %.3f\n", d, reached);
    if (reached < (d > 8 ? 0.55 : 0.85)) fail_msg("minkowski, d = %zu: the attack reached %g", d, reached);
  }
}

// What underflow takes, alone: keys far below what is rounded.
void vanishing_sums_use_half_of_eta(void**) {
  const auto reached = [](const char* name, double p, const std::vector<Row>& rows) {
    const Metric metric = find_metric(name, p);
    const Attack worst = attack(metric, rows);
    assert_int_equal(worst.violations, 0);
    print_message("%s: what vanishes takes %.3f of the bound\n", name, worst.reached);
    return worst.reached;
  };
  // 2.5 of the smallest numbers, as a quotient.
  const double quotient = reached("braycurtis", 2, {{0x1p100f, 0x1.4p-48f}, {0x1p100f, -0x1.4p-48f}});
  // Powers just below 2^-126 become 0.
  for (const std::size_t d : {1UL, 8UL, 200UL}) {
    const double powers = reached("minkowski", 3, {Row(d, 0x1p-42f * (1 - 0x1p-20f)), Row(d, 0.0f)});
    assert_true(0.45 <= powers && powers <= 1);
  }
  assert_true(0.45 <= quotient && quotient <= 1);
}

// The bounds themselves are evaluated in single precision. Whatever a sum and its error are, low is not above the
// smallest key that has this sum, and up not below the largest. (Of the largest errors nothing is claimed.)
void low_and_up_cover_their_own_roundings(void**) {
  const FloatEnv env;
  values::Random random(43);
  constexpr long double f = 0x1p-24L;
  long double of_d = 0, of_g = 0, of_floor = 0, of_ceiling = 0;  // shares of 4 f, 8 f, 2^-148 and 16 floors
  for (const double gamma : {0x1p-23, 0x1p-20, 0x1p-13, 0.01, 0.1, 1.0 / 7, 0.5, 0.93})
    for (const double eta : {0.0, 0x1p-149, 0x1p-140, 0x1p-105, 0x1p-20})
      for (int trial = 0; trial < 4000; ++trial) {
        const double wobble = gamma * (1 - 0.001 * std::fabs(random.uniform()));
        const SumError error{wobble, eta};
        const SumBound bound(error);
        const float sum = trial == 0   ? 0.0f
                          : trial < 60 ? static_cast<float>(trial) * 0x1p-149f
                                       : static_cast<float>(std::ldexp(1 + std::fabs(random.uniform()),
                                                                       static_cast<int>(random.below(250)) - 140));
        const long double s = sum, g = wobble;
        const long double least = std::max(0.0L, (s - eta) / (1 + g)), most = (s + eta) / (1 - g);
        const float low = bound.low(sum), up = bound.up(low);
        if (!(low <= least && up >= most))
          fail_msg("gamma %g, eta %a, sum %a: %a to %a", wobble, eta, static_cast<double>(sum),
                   static_cast<double>(low), static_cast<double>(up));
        if (!std::isfinite(up)) continue;
        if (eta == 0 && sum > 0x1p-100f) {
          of_d = std::max(of_d, 1 - (least - low) / (least * 4 * f));
          of_g = std::max(of_g, 1 - (up - most) / (most * 8 * f));
        }
        if (eta == 0 && sum < 0x1p-140f) of_floor = std::max(of_floor, 1 - (least - low) / 0x1p-148L);
        if (sum < eta * 0x1p-20) of_ceiling = std::max(of_ceiling, 1 - (up - most) / (16 * std::max(eta, 0x1p-148)));
      }
  print_message("of 4 f, 8 f, the floor and 16 floors %.3Lf, %.3Lf, %.3Lf and %.3Lf are used\n", of_d, of_g, of_floor,
                of_ceiling);
  assert_true(of_d >= 0.2L && of_g >= 0.2L && of_floor >= 0.2L && of_ceiling >= 0.1L);
}

// A fifth of the bound is not enough for them: a lowered constant shows.
void a_lowered_bound_breaks(void**) {
  for (const Metric& metric : sum_metrics()) {
    if (metric.term == Term::power_difference) continue;
    const std::vector<Row> rows = hard_rows(metric, 200, true);
    SumError error = sum_error(metric, 200, range_of(rows));
    error.gamma *= 0.2;
    // What fp32 does to the bounds themselves hides less than three roundings.
    if (metric.term == Term::largest_difference) error.gamma = -0x1p-21;
    if (attack(metric, rows, error).violations == 0) fail_msg("%s: nobody noticed", metric.name);
  }
}

// Where sums could overflow, or reciprocals leave the normal numbers, nothing is claimed; where they cannot, much is.
void claims_end_where_sums_could_overflow(void**) {
  const auto claims = [](const char* name, double p, float smallest, float largest) {
    return std::isfinite(sum_error(find_metric(name, p), 100, {smallest, largest}).gamma);
  };
  for (const char* name : {"manhattan", "chebyshev", "braycurtis"}) {
    assert_true(claims(name, 2, 0x1p-149f, 1e30f));
    assert_false(claims(name, 2, 1, FLT_MAX));
  }
  assert_true(claims("canberra", 2, 0x1p-126f, 0x1p124f));
  assert_false(claims("canberra", 2, 0x1p-127f, 1));
  assert_false(claims("canberra", 2, 1, 0x1p125f));
  assert_true(claims("minkowski", 3, 1, 1e10f));
  assert_false(claims("minkowski", 3, 1, 1e13f));
  assert_true(claims("minkowski", 0.01, 1, 1e37f));
  assert_false(claims("minkowski", 0.01, 1, FLT_MAX));
  assert_false(std::isfinite(sum_error(find_metric("minkowski", 1e6), 1, {1, 1}).gamma));
  const SumBound none;
  for (const float sum : {0.0f, 1.0f, FLT_MAX, static_cast<float>(values::kInfinity), NAN}) {
    assert_true(none.low(sum) == 0);
    assert_true(static_cast<double>(none.up(none.low(sum))) == values::kInfinity);
  }
  // A quotient that overflows still has a lower bound, and no upper one.
  const SumBound some({0x1p-20, 0});
  const float low = some.low(static_cast<float>(values::kInfinity));
  assert_true(low < FLT_MAX && low > FLT_MAX / 2);
  assert_true(static_cast<double>(some.up(low)) == values::kInfinity);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(keys_lie_within),
      cmocka_unit_test(attacks_come_close),
      cmocka_unit_test(powers_come_close),
      cmocka_unit_test(vanishing_sums_use_half_of_eta),
      cmocka_unit_test(low_and_up_cover_their_own_roundings),
      cmocka_unit_test(a_lowered_bound_breaks),
      cmocka_unit_test(claims_end_where_sums_could_overflow),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
