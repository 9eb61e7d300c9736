// Keys from products in fp64 (docs/internals/error-bound.md, "Keys from products in fp64") under attack: sums in
// several orders, each operation rounded to nearest or cut off, against canonical keys.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/float_env.h"
#include "metric/canonical.h"
#include "refine/product_key.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

using Row = std::vector<double>;
using Operation = double (*)(double a, double b, double sum);

double nearest(double a, double b, double sum) { return std::fma(a, b, sum); }
double apart(double a, double b, double sum) {
  const volatile double product = a * b;
  return sum + product;
}
// Cut off at the last of 53 bits, of a sum that long double holds but for what lies 11 bits below.
double cutting(double a, double b, double sum) {
  const long double exact = static_cast<long double>(sum) + static_cast<long double>(a) * static_cast<long double>(b);
  const auto near = static_cast<double>(exact);
  return std::fabs(static_cast<long double>(near)) > std::fabs(exact) ? std::nextafter(near, 0.0) : near;
}
double flushing(double a, double b, double sum) {
  const double x = std::fma(a, b, sum);
  return std::fabs(x) < 0x1p-1022 ? 0 : x;
}
// Groups of 8 terms, aligned to the largest and cut off.
double in_groups(const Row& x, const Row& y) {
  double sum = 0;
  for (std::size_t first = 0; first < x.size(); first += 8) {
    const std::size_t end = std::min(first + 8, x.size());
    double largest = std::fabs(sum);
    for (std::size_t t = first; t < end; ++t) largest = std::max(largest, std::fabs(x[t] * y[t]));
    if (largest == 0) continue;
    const long double last = std::ldexp(1.0L, std::ilogb(largest) - 53);
    long double all = std::trunc(static_cast<long double>(sum) / last) * last;
    for (std::size_t t = first; t < end; ++t)
      all += std::trunc(static_cast<long double>(x[t]) * static_cast<long double>(y[t]) / last) * last;
    sum = cutting(1, static_cast<double>(all), 0);
  }
  return sum;
}

double chained(const Row& x, const Row& y, std::size_t chains, bool descending, Operation add) {
  std::vector<double> sums(chains);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t t = descending ? x.size() - 1 - i : i;
    double& sum = sums[t % chains];
    sum = add(x[t], y[t], sum);
  }
  for (std::size_t i = 1; i < chains; ++i) sums[0] = add(sums[i], 1, sums[0]);
  return sums[0];
}

struct Unit {
  const char* name;
  std::function<double(const Row&, const Row&)> multiply;
};
std::vector<Unit> units() {
  std::vector<Unit> all = {{"groups that are cut off", in_groups}};
  for (const Operation add : {nearest, apart, cutting, flushing})
    for (const std::size_t chains : {std::size_t{1}, std::size_t{16}})
      for (const bool descending : {false, true})
        all.push_back({add == cutting    ? "cut off"
                       : add == flushing ? "flushed"
                                         : "to nearest",
                       [=](const Row& x, const Row& y) { return chained(x, y, chains, descending, add); }});
  return all;
}

// Canonical rows and a centre.
struct Points {
  const char* name;
  std::vector<Row> u;
  Row centre;
};

// The largest share of its error that a key is off.
double check(const Metric& metric, const Points& p, const std::vector<Unit>& all) {
  const std::size_t d = p.centre.size();
  const ProductKey of_products(metric, static_cast<std::int64_t>(d));
  std::vector<Row> x = p.u;
  for (Row& row : x)
    for (std::size_t t = 0; t < d; ++t) row[t] -= p.centre[t];
  double largest = 0;
  for (const Unit& unit : all) {
    std::vector<double> squares;
    for (const Row& row : x) squares.push_back(unit.multiply(row, row));
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const double key = of_products.key(squares[i], squares[j], unit.multiply(x[j], x[i]));
        const double error = of_products.error(squares[i], squares[j]), exact = canonical_key(metric, p.u[i], p.u[j]);
        if (!(key - error < exact && exact < key + error)) {
          std::printf("%s, %s, %s, %zu dimensions: %.17g beside %.17g, which may be off %g\n", metric.name, p.name,
                      unit.name, d, key, exact, error);
          fail();
        }
        largest = std::max(largest, std::fabs(key - exact) / error);
      }
  }
  return largest;
}

Points random_points(const char* name, std::size_t d, std::uint64_t seed,
                     const std::function<double(values::Random&, std::size_t)>& value, bool centred = true) {
  values::Random random(seed);
  Points p{name, {}, Row(d)};
  for (int i = 0; i < 6; ++i) {
    Row row(d);
    for (std::size_t t = 0; t < d; ++t) row[t] = value(random, t);
    p.u.push_back(row);
  }
  if (centred)
    for (std::size_t t = 0; t < d; ++t) p.centre[t] = p.u[0][t] + random.uniform() * 0x1p-3 * p.u[0][t];
  return p;
}

constexpr std::size_t kDims[] = {1, 2, 31, 33, 100, 1000, 4099};

void keys_are_within_their_error(void**) {
  const FloatEnv env;
  const std::vector<Unit> all = units();
  for (const char* const name : {"sqeuclidean", "euclidean", "cosine", "hellinger"})
    for (const std::size_t d : kDims) {
      const Metric metric = find_metric(name, 2);
      double share = 0;
      const auto add = [&](const Points& p) { share = std::max(share, check(metric, p, all)); };
      add(random_points("uniform", d, 1, [](auto& r, std::size_t) { return r.uniform(); }));
      add(random_points(
          "uniform", d, 2, [](auto& r, std::size_t) { return r.uniform(); }, false));
      add(random_points("far from 0", d, 3, [](auto& r, std::size_t) { return 1e9 + r.uniform(); }));
      add(random_points(
          "far from 0", d, 4, [](auto& r, std::size_t) { return 1e9 + r.uniform(); }, false));
      add(random_points("many magnitudes", d, 5, [](auto& r, std::size_t t) {
        return std::ldexp(r.uniform(), static_cast<int>(t * 997 % 600) - 300);
      }));
      add(random_points("denormal", d, 6, [](auto& r, std::size_t) { return r.denormal(); }));
      add(random_points("squares underflow", d, 7, [](auto& r, std::size_t) { return r.uniform() * 0x1p-530; }));
      add(random_points("products are denormal", d, 10, [](auto& r, std::size_t) { return r.uniform() * 0x1p-512; }));
      add(random_points("large", d, 8, [](auto& r, std::size_t) { return r.uniform() * 0x1p500; }));
      add(random_points(
          "equal", d, 9, [](auto&, std::size_t t) { return static_cast<double>(t) * 0.1; }, false));
      assert_true(share < 1);
    }
}

// All that is added to 1 is cut off, in both squares and, with the other sign, in the product.
void attack_reaches_the_bound(void**) {
  const FloatEnv env;
  for (const std::size_t d : {std::size_t{100}, std::size_t{1000}, std::size_t{4099}}) {
    Points p{"just below the last bit", {}, Row(d)};
    Row row(d, 0x1p-26 * (1 - 0x1p-6));
    row[0] = 1;
    p.u.push_back(row);
    for (double& x : row) x = -x;
    p.u.push_back(row);
    const double share = check(find_metric("sqeuclidean", 2), p, units());
    std::printf("%zu dimensions: %.3f of the error\n", d, share);
    assert_true(share > 0.5);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(keys_are_within_their_error),
      cmocka_unit_test(attack_reaches_the_bound),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
