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

// Approximations that are off by nearly all that they may be, in one direction.
template <int kSign>
struct WorstUnits {
  static constexpr double kError = kSign * (0x1p-22 - 0x1p-24);  // and a rounding to fp32
  static float reciprocal(float x) { return static_cast<float>((1 + kError) / static_cast<double>(x)); }
  static float log2(float x) {
    const double exact = std::log2(static_cast<double>(x));
    return static_cast<float>(std::isfinite(exact) ? exact + kError * (1 + std::fabs(exact)) : exact);
  }
  static float exp2(float x) {
    const double y = std::exp2(static_cast<double>(x)) * (1 + kError);
    return y < 0x1p-126 ? 0.0f : static_cast<float>(y);
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

// A row of a large difference and many that are just above half an ulp of it, which all round up, or just below, which
// are all lost.
std::vector<Row> hard_rows(const Metric& metric, std::size_t d, bool above) {
  const float sign = above ? 1.0f : -1.0f;
  Row x(d, 0x1p-24f * (1 + sign * 0x1p-10f)), y(d, 0.0f);
  x.front() = 1;
  switch (metric.term) {
    case Term::largest_difference: return {Row(d, 1.0f), Row(d, -0x1p-24f * (1 + sign * 0x1p-10f))};
    // The lower sum loses where the upper gains.
    case Term::bray_curtis:
      for (std::size_t t = 1; t < d; ++t) {
        x[t] = 0x1p-24f;
        y[t] = -sign * 0x1p-34f;
      }
      return {x, y};
    // Ratios of 2^-24, more or less.
    case Term::canberra:
      for (std::size_t t = 1; t < d; ++t) {
        x[t] = above ? 0.95f : 1.01f;
        y[t] = x[t] - 0x1p-23f;
      }
      return {x, y};
    // Logarithms as long as they get; approximations are at their worst.
    case Term::power_difference: return {Row(d, 0x1p-149f), y};
    default: return {x, y};
  }
}

void attacks_come_close(void**) {
  for (const Metric& metric : sum_metrics()) {
    if (metric.term == Term::power_difference && metric.p != 0.5) continue;
    for (const std::size_t d : {200UL, 20000UL})
      for (const bool above : {true, false}) {
        const Attack worst = attack(metric, hard_rows(metric, d, above));
        assert_int_equal(worst.violations, 0);
        assert_true(worst.reached <= 1);
        print_message("%s, d = %zu: an attack reaches %.3f\n", metric.name, d, worst.reached);
        if (worst.reached < (metric.term == Term::power_difference && d > 200 ? 0.02 : 0.3))
          fail_msg("%s, d = %zu, above %d: the attack reached %g", metric.name, d, above, worst.reached);
      }
  }
}

// A fifth of the bound is not enough for them: a lowered constant shows.
void a_lowered_bound_breaks(void**) {
  for (const Metric& metric : sum_metrics()) {
    if (metric.term == Term::power_difference && metric.p != 0.5) continue;
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
      cmocka_unit_test(a_lowered_bound_breaks),
      cmocka_unit_test(claims_end_where_sums_could_overflow),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
