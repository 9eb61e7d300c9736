// The metric table and the canonical keys: frozen bits, symmetry, rows without direction, ranks, scales, the largest
// magnitude. The bits of log and pow themselves: test_elementary.cpp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "golden_keys.h"
#include "metric/canonical.h"
#include "metric/metric.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;
using values::bits;

namespace {

using Row = std::vector<double>;

// What the engine's rows go through: the stored values become u. False if the row has no direction.
bool transform_row(Transform transform, Row& x) {
  const bool directionless = has_no_direction(transform, x);
  if (transform == Transform::rank_unit) {
    std::vector<std::int32_t> order(x.size()), ranks(x.size());
    centred_ranks(x, order, ranks);
    std::copy(ranks.begin(), ranks.end(), x.begin());
  }
  const RowConstants constants = row_constants(transform, x);
  if (has_directions(transform)) assert_int_equal(constants.factor == 0, directionless);
  apply_transform(transform, constants, x);
  return !directionless;
}

double key_of_rows(const Metric& metric, Row x, Row y) {
  const bool both = transform_row(metric.transform, x) & transform_row(metric.transform, y);
  return both ? canonical_key(metric, x, y) : kNoDirectionKey;
}

// Every metric, minkowski with several exponents.
std::vector<Metric> all_metrics() {
  std::vector<Metric> all;
  for (const Metric& m : metrics()) {
    if (m.term != Term::power_difference) {
      all.push_back(m);
      continue;
    }
    for (const double p : {0.01, 0.5, 1.0, 1.25, 2.0, 3.0, 1000.0}) all.push_back(find_metric(m.name, p));
  }
  return all;
}

// ---- frozen bits

// The rows of golden_keys.py.
void golden_rows(const GoldenKey& golden, Row& x, Row& y) {
  values::Random random(static_cast<std::uint64_t>(1000 * golden.dim + golden.kind));
  const auto value = [&](const Row* near) {
    switch (golden.kind) {
      case 1: return static_cast<double>(random.next() % 7);
      case 2: {
        const double mantissa = random.uniform();
        return std::ldexp(mantissa, static_cast<int>(random.next() % 80) - 40);
      }
      case 3:
        if (near) return values::from_bits(bits(near->back()) + random.next() % 5);
        [[fallthrough]];
      default: return random.uniform();
    }
  };
  for (int t = 0; t < golden.dim; ++t) {
    x.push_back(value(nullptr));
    y.push_back(value(&x));
  }
  const Transform transform = find_metric(golden.metric, golden.p).transform;
  if (!refuses_negative(transform)) return;
  for (Row* row : {&x, &y})
    for (double& v : *row) v = std::fabs(v);
}

void keys_and_values_have_their_golden_bits(void**) {
  std::vector<std::string> seen;
  for (const GoldenKey& golden : kGoldenKeys) {
    Row x, y;
    golden_rows(golden, x, y);
    const Metric metric = find_metric(golden.metric, golden.p);
    const double key = key_of_rows(metric, x, y);
    if (bits(key) != golden.key)
      print_error("%s, p %g, dim %d, kind %d: %a\n", golden.metric, golden.p, golden.dim, golden.kind, key);
    assert_int_equal(bits(key), golden.key);
    assert_int_equal(bits(reported_value(metric, key, false)), golden.distance);
    assert_int_equal(bits(reported_value(metric, key, true)), golden.similarity);
    if (seen.empty() || seen.back() != golden.metric) seen.emplace_back(golden.metric);
  }
  assert_int_equal(seen.size(), metrics().size());
}

// Keys with the library's own pow and log, against the C library's in extended precision.
void minkowski_is_near_the_sum_of_powers(void**) {
  for (const GoldenKey& golden : kGoldenKeys) {
    const Metric metric = find_metric(golden.metric, golden.p);
    if (metric.term != Term::power_difference) continue;
    Row x, y;
    golden_rows(golden, x, y);
    long double sum = 0;
    for (std::size_t t = 0; t < x.size(); ++t)
      sum += std::pow(std::fabs(static_cast<long double>(x[t] - y[t])), golden.p);
    // An ulp for each power, half of one for each addition on the way from a term to the key; a key of one term: 2 ulp.
    const double additions = golden.dim == 1 ? 0 : std::ceil(golden.dim / 32.0) + 5;
    const double key = canonical_key(metric, x, y);
    assert_true(std::fabs(static_cast<double>(key - sum)) <= (2 + additions / 2) * 0x1p-52 * key);
    const long double root = std::pow(static_cast<long double>(key), 1 / static_cast<long double>(golden.p));
    // 1 / p is rounded: that is an error of log(key) / p in half ulps.
    const double bound = (2 + std::fabs(std::log(key) / golden.p)) * 0x1p-52;
    const double value = reported_value(metric, key, false);
    assert_true(std::fabs(static_cast<double>(value - root)) <= bound * value);
  }
}

void jensen_shannon_is_near_the_sum_of_logarithms(void**) {
  const Metric metric = find_metric("jensenshannon", 2);
  values::Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t dim = i < 10'000 ? 1 : 1 + static_cast<std::size_t>(random.below(100));
    Row u, v;
    for (std::size_t t = 0; t < dim; ++t) {
      u.push_back(random.below(8) == 0 ? 0 : std::fabs(random.uniform()));
      v.push_back(random.below(8) == 0 ? u.back()
                                       : std::ldexp(std::fabs(random.uniform()), -static_cast<int>(random.below(30))));
    }
    long double sum = 0, size = 0;
    for (std::size_t t = 0; t < dim; ++t) {
      const long double m = (static_cast<long double>(u[t]) + v[t]) / 2;
      for (const long double a : {static_cast<long double>(u[t]), static_cast<long double>(v[t])}) {
        if (a == 0) continue;
        sum += a * std::log(a / m);
        // m and a / m are rounded, which is 2^-52 of a whatever the logarithm is; the rest is an ulp of each part.
        size += a + 2 * a * std::fabs(std::log(a / m));
      }
    }
    const double steps = 1 + (std::ceil(static_cast<double>(dim) / 32) + 5) / 2;
    const double key = canonical_key(metric, u, v);
    assert_true(std::fabs(static_cast<double>(key - sum / 2)) <= steps * 0x1p-52 * static_cast<double>(size) / 2);
    assert_true(key >= 0);
  }
}

// ---- properties of keys

// Values that u may have: after its transform for the metrics that have one.
double nasty_u(const Metric& metric, values::Random& random, std::int64_t dim) {
  const double limit = largest_magnitude(metric, dim);
  switch (metric.transform) {
    case Transform::identity: return values::nasty(random, limit);
    case Transform::square_root: return std::sqrt(std::fabs(values::nasty(random, limit)));
    case Transform::share: return std::fabs(values::nasty(random, 1));
    default: return values::nasty(random, 1);
  }
}

void keys_are_symmetric_finite_and_not_negative(void**) {
  values::Random random(11);
  for (const Metric& metric : all_metrics())
    for (int i = 0; i < 3000; ++i) {
      const std::int64_t dim = 1 + random.below(i < 1500 ? 4 : 70);
      Row u, v;
      for (std::int64_t t = 0; t < dim; ++t) {
        u.push_back(nasty_u(metric, random, dim));
        v.push_back(random.below(4) == 0 ? u.back() : nasty_u(metric, random, dim));
      }
      const double key = canonical_key(metric, u, v);
      assert_int_equal(bits(key), bits(canonical_key(metric, v, u)));
      assert_true(std::isfinite(key));
      assert_true(bits(key) != bits(-0.0));
      // The sign of a zero does not matter.
      Row w = u;
      for (double& value : w)
        if (value == 0) value = -value;
      assert_int_equal(bits(canonical_key(metric, w, v)), bits(key));
      if (metric.term == Term::product) continue;
      assert_true(key >= 0);
      assert_int_equal(bits(canonical_key(metric, u, u)), bits(0.0));
      assert_int_equal(bits(canonical_key(metric, u, w)), bits(0.0));
    }
}

void zero_denominators_add_nothing(void**) {
  const Row zeros = {0.0, -0.0, 0.0}, some = {0.0, 1.0, 0.0}, opposite = {0.0, -1.0, 0.0};
  assert_int_equal(bits(canonical_key(find_metric("canberra", 2), zeros, zeros)), bits(0.0));
  assert_int_equal(bits(canonical_key(find_metric("canberra", 2), zeros, some)), bits(1.0));
  assert_int_equal(bits(canonical_key(find_metric("braycurtis", 2), zeros, zeros)), bits(0.0));
  assert_int_equal(bits(canonical_key(find_metric("braycurtis", 2), zeros, some)), bits(1.0));
  assert_int_equal(bits(canonical_key(find_metric("braycurtis", 2), some, opposite)), bits(0.0));
}

// ---- transforms

void rows_without_direction_are_told_by_their_stored_values(void**) {
  for (const std::size_t dim : {1, 2, 3, 31, 33, 100}) {
    Row zero(dim, 0.0), mixed(dim, 0.0), tenth(dim, 0.1), almost(dim, 0.1), speck(dim, 0.0);
    for (std::size_t t = 0; t < dim; t += 2) mixed[t] = -0.0;
    almost[dim - 1] = std::nextafter(0.1, 1.0);
    speck[dim - 1] = values::kSmallest;
    const bool one = dim == 1;  // a single value is constant
    for (const Transform t : {Transform::identity, Transform::square_root, Transform::share})
      for (const Row& x : {zero, tenth}) assert_false(has_no_direction(t, x));
    assert_true(has_no_direction(Transform::unit, zero) && has_no_direction(Transform::unit, mixed));
    assert_false(has_no_direction(Transform::unit, tenth) || has_no_direction(Transform::unit, speck));
    for (const Transform t : {Transform::centred_unit, Transform::rank_unit}) {
      assert_true(has_no_direction(t, zero) && has_no_direction(t, mixed) && has_no_direction(t, tenth));
      assert_int_equal(has_no_direction(t, almost), one);
      assert_int_equal(has_no_direction(t, speck), one);
    }
    Row x = tenth;
    assert_false(transform_row(Transform::centred_unit, x));
    for (const double u : x) assert_int_equal(bits(u), bits(0.0));
    for (const Row& row : {almost, speck}) {
      Row u = row;
      if (one || !transform_row(Transform::centred_unit, u)) continue;
      double square = 0;
      for (const double value : u) square += value * value;
      assert_true(std::fabs(square - 1) < 1e-14);
    }
  }
}

void ranks_are_twice_the_average_rank_centred(void**) {
  values::Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t dim = 1 + random.below(i % 20 == 0 ? 500 : 40);
    Row x;
    for (std::int64_t t = 0; t < dim; ++t) {
      const double tie = static_cast<double>(random.below(dim) - dim / 2) / 4;
      x.push_back(random.below(10) == 0 ? -0.0 : i % 3 == 0 ? random.any_magnitude() : tie);
    }
    std::vector<std::int32_t> order(x.size()), ranks(x.size());
    centred_ranks(x, order, ranks);
    std::int64_t sum = 0;
    for (std::size_t a = 0; a < x.size(); ++a) {
      // 2 rank = 2 (number below) + (number equal) + 1
      const auto below = std::count_if(x.begin(), x.end(), [&](double b) { return b < x[a]; });
      const auto equal = std::count(x.begin(), x.end(), x[a]);
      assert_int_equal(ranks[a], 2 * below + equal + 1 - (dim + 1));
      sum += ranks[a];
    }
    assert_int_equal(sum, 0);
  }
}

// u does not depend on the row's scale, from denormals to the largest doubles.
void directions_do_not_depend_on_scale(void**) {
  values::Random random(3);
  for (const Transform transform : {Transform::unit, Transform::centred_unit, Transform::rank_unit})
    for (const std::size_t dim : {2, 3, 32, 33, 100}) {
      Row integers;
      double sum = 0;
      for (std::size_t t = 0; t < dim; ++t) {
        integers.push_back(static_cast<double>(random.below(1000)));
        sum += integers.back();
      }
      // With a mean that is an integer, scaling by powers of two is exact down to the last place of denormals.
      integers[0] += static_cast<double>(dim) - std::fmod(sum, static_cast<double>(dim));
      Row expected = integers;
      assert_true(transform_row(transform, expected));
      double square = 0;
      for (const double u : expected) square += u * u;
      assert_true(std::fabs(square - 1) < 1e-14);
      for (const int exponent : {-1074, -1073, -1063, -1030, -600, -1, 1, 500, 996}) {
        Row scaled = integers;
        for (double& value : scaled) value = std::ldexp(value, exponent);
        assert_true(transform_row(transform, scaled));
        for (std::size_t t = 0; t < dim; ++t) assert_int_equal(bits(scaled[t]), bits(expected[t]));
      }
    }
  for (const double scale : {1e-320, values::kSmallest, values::kSmallestNormal, 1e300, values::kLargest}) {
    Row x = {scale, -scale, 0, scale};
    assert_true(transform_row(Transform::unit, x));
    const double third = 1 / std::sqrt(3.0);
    assert_true(std::fabs(x[0] - third) < 1e-15 && std::fabs(x[1] + third) < 1e-15 && x[2] == 0);
  }
  Row uneven = {values::kLargest, values::kSmallest};
  assert_true(transform_row(Transform::unit, uneven));
  assert_true(uneven[0] == 1 && uneven[1] == 0);
}

void other_transforms(void**) {
  Row x = {0.0, 2.0, 0.25, 1e300, values::kSmallest};
  Row root = x, same = x, share = {1.0, 2.0, 5.0, 0.0};
  transform_row(Transform::identity, same);
  assert_true(same == x);
  transform_row(Transform::square_root, root);
  for (std::size_t t = 0; t < x.size(); ++t) assert_int_equal(bits(root[t]), bits(std::sqrt(x[t])));
  transform_row(Transform::share, share);
  assert_true((share == Row{0.125, 0.25, 0.625, 0.0}));
}

// ---- the largest magnitude

// Rows of +-magnitude between which a sum is largest, one kind after the other.
void extreme_rows(int kind, double magnitude, bool negative, std::size_t dim, Row& x, Row& y) {
  const double other[] = {negative ? -magnitude : 0.0, magnitude, negative ? -magnitude * (1 - 1e-12) : 0.0};
  x.assign(dim, magnitude);
  y.assign(dim, other[kind]);
  // A constant row has no direction.
  if (negative && dim > 1) x[0] = -x[0], y[1] = -y[1];
}
constexpr int kExtremes = 3;

void keys_at_the_largest_magnitude_are_finite(void**) {
  for (const Metric& metric : all_metrics())
    for (const std::size_t dim : {1, 2, 31, 33, 785, 20'000})
      for (int kind = 0; kind < kExtremes; ++kind) {
        const double limit = largest_magnitude(metric, static_cast<std::int64_t>(dim));
        assert_true(limit > 1 && std::isfinite(limit));
        Row x, y;
        extreme_rows(kind, limit, !refuses_negative(metric.transform), dim, x, y);
        if (metric.transform == Transform::share) y[0] = limit;  // needs a sum
        const double key = key_of_rows(metric, x, y);
        if (!std::isfinite(key)) print_error("%s, p %g, dim %zu: %g\n", metric.name, metric.p, dim, key);
        assert_true(std::isfinite(key));
      }
}

void beyond_twice_the_largest_magnitude_keys_overflow(void**) {
  for (const Metric& metric : all_metrics()) {
    // Transforms refuse earlier, for sums of their own; small powers of a large difference are small.
    if (metric.transform != Transform::identity || (metric.term == Term::power_difference && metric.p < 2)) continue;
    for (const std::size_t dim : {1, 2, 31, 33, 785, 20'000}) {
      const double beyond = 2 * (1 + 1e-9) * largest_magnitude(metric, static_cast<std::int64_t>(dim));
      bool overflows = false;
      for (int kind = 0; kind < kExtremes; ++kind) {
        Row x(dim, beyond), y(dim, kind == 0 ? -beyond : kind == 1 ? beyond : -beyond * (1 - 1e-12));
        overflows = overflows || !std::isfinite(canonical_key(metric, x, y));
      }
      if (!overflows) print_error("%s, p %g, dim %zu: %g\n", metric.name, metric.p, dim, beyond);
      assert_true(overflows);
    }
  }
}

// ---- the table

void metrics_are_found_by_name(void**) {
  std::string names;
  for (const Metric& m : metrics()) {
    names += (names.empty() ? "" : ", ") + std::string(m.name);
    const Metric found = find_metric(m.name, 3);
    assert_string_equal(found.name, m.name);
    assert_true(found.transform == m.transform && found.term == m.term && found.report == m.report);
    assert_true(found.similarity == m.similarity && found.scale == m.scale);
    assert_true(m.scale == 1 || m.scale == 0.5);
  }
  assert_string_equal(metric_names(), names.c_str());
  for (const auto& [alias, name] : {std::pair{"L2", "euclidean"},
                                    {"Euclidean", "euclidean"},
                                    {"l1", "manhattan"},
                                    {"CityBlock", "manhattan"},
                                    {"linf", "chebyshev"},
                                    {"pearson", "correlation"},
                                    {"dot", "inner_product"}})
    assert_string_equal(find_metric(alias, 2).name, name);
  for (const char* wrong : {"", "l3", "euclid", "dot,", "dot, dot_product", "euclidean "}) {
    knng_error e{};
    try {
      find_metric(wrong, 2);
    } catch (const Error& caught) {
      e = caught.info();
    }
    assert_int_equal(e.code, KNNG_ERR_OPTION);
    assert_non_null(std::strstr(e.message, metric_names()));
  }
}

void values_of_the_key_zero_are_plus_zero_or_one(void**) {
  for (const Metric& metric : all_metrics()) {
    assert_int_equal(bits(reported_value(metric, 0.0, false)), bits(0.0));
    assert_int_equal(bits(reported_value(metric, 0.0, true)), bits(metric.term == Term::product ? 0.0 : 1.0));
  }
}

void minkowski_of_one_and_two_are_manhattan_and_euclidean(void**) {
  values::Random random(1);
  for (int i = 0; i < 200; ++i) {
    Row x, y;
    for (std::int64_t t = 0; t < 1 + i; ++t) x.push_back(random.uniform()), y.push_back(random.uniform());
    const std::pair<double, const char*> same[] = {{1, "manhattan"}, {2, "euclidean"}};
    for (const auto& [p, name] : same) {
      const Metric a = find_metric("minkowski", p), b = find_metric(name, 2);
      const double key = canonical_key(a, x, y);
      assert_int_equal(bits(key), bits(canonical_key(b, x, y)));
      assert_int_equal(bits(reported_value(a, key, false)), bits(reported_value(b, key, false)));
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(keys_and_values_have_their_golden_bits),
      cmocka_unit_test(minkowski_is_near_the_sum_of_powers),
      cmocka_unit_test(jensen_shannon_is_near_the_sum_of_logarithms),
      cmocka_unit_test(keys_are_symmetric_finite_and_not_negative),
      cmocka_unit_test(zero_denominators_add_nothing),
      cmocka_unit_test(rows_without_direction_are_told_by_their_stored_values),
      cmocka_unit_test(ranks_are_twice_the_average_rank_centred),
      cmocka_unit_test(directions_do_not_depend_on_scale),
      cmocka_unit_test(other_transforms),
      cmocka_unit_test(keys_at_the_largest_magnitude_are_finite),
      cmocka_unit_test(beyond_twice_the_largest_magnitude_keys_overflow),
      cmocka_unit_test(metrics_are_found_by_name),
      cmocka_unit_test(values_of_the_key_zero_are_plus_zero_or_one),
      cmocka_unit_test(minkowski_of_one_and_two_are_manhattan_and_euclidean),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
