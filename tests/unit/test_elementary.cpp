// log and pow: frozen bits, accuracy, special arguments, and the same bits from every SIMD target compiled here.
//
// This file is included once more for each target by foreach_target.h; the tests themselves are in the HWY_ONCE part.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "core/hwy_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/test_elementary.cpp"
#include <hwy/foreach_target.h>

#include "backend/cpu/hwy_elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

// n is a multiple of every target's lanes.
void log_all(const double* x, double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; i += SimdOps::kLanes) {
    SimdOps::store(log<SimdOps>(SimdOps::load(x + i)), out + i);
  }
}

void pow_all(const double* x, const double* p, double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; i += SimdOps::kLanes) {
    SimdOps::store(pow<SimdOps>(SimdOps::load(x + i), SimdOps::load(p + i)), out + i);
  }
}

// Every operation of the policy once, for i-th operands a, b, c; 12 results for each.
void ops_all(const double* a, const double* b, const double* c, double* out, std::size_t n) {
  using Ops = SimdOps;
  for (std::size_t i = 0; i < n; i += Ops::kLanes) {
    const Ops::Real x = Ops::load(a + i), y = Ops::load(b + i), z = Ops::load(c + i), zero = Ops::set(0.0);
    const Ops::Real one = Ops::set(1.0);
    const Ops::Mask less = Ops::less(x, y), equal = Ops::equal(x, y);
    const Ops::Real results[] = {Ops::add(x, y),
                                 Ops::sub(x, y),
                                 Ops::mul(x, y),
                                 Ops::div(x, y),
                                 Ops::fma(x, y, z),
                                 Ops::fms(x, y, z),
                                 Ops::fnma(x, y, z),
                                 Ops::sqrt(Ops::abs(x)),
                                 Ops::max(x, y),
                                 Ops::min(x, y),
                                 Ops::select(Ops::mask_or(less, equal), one, zero),
                                 Ops::select(Ops::mask_and(Ops::mask_not(less), equal), x, z)};
    std::size_t row = 0;
    for (const Ops::Real& result : results) Ops::store(result, out + n * row++ + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "metric/elementary.h"
#include "tests/unit/elementary_arguments.h"
#include "tests/unit/elementary_golden.h"

#include "tests/harness/cmocka.h"

namespace libknng {
namespace {

using LogAll = void(const double*, double*, std::size_t);
using PowAll = void(const double*, const double*, double*, std::size_t);
using OpsAll = void(const double*, const double*, const double*, double*, std::size_t);
constexpr SimdVariant<LogAll> kLogVariants[] = {KNNG_SIMD_VARIANTS(log_all)};
constexpr SimdVariant<PowAll> kPowVariants[] = {KNNG_SIMD_VARIANTS(pow_all)};
constexpr SimdVariant<OpsAll> kOpsVariants[] = {KNNG_SIMD_VARIANTS(ops_all)};

using values::bits;
using values::difficult_argument;
using values::difficult_power;
using values::hash;
using values::kInfinity;
using values::kLargest;
using values::kSmallest;
using values::Random;

// Finite results here are never negative zero next to positive ones, so bit patterns of one sign are consecutive.
bool within_one_ulp(std::uint64_t a, std::uint64_t b) { return (a > b ? a - b : b - a) <= 1; }

void assert_same_bits(const std::vector<double>& got, const std::vector<double>& expected, SimdTarget target) {
  assert_int_equal(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (bits(got[i]) == bits(expected[i])) continue;
    print_error("%s: element %zu is %a, scalar gives %a\n", simd_target_name(target), i, got[i], expected[i]);
    assert_int_equal(bits(got[i]), bits(expected[i]));
  }
}

void log_has_its_golden_bits(void**) {
  for (const LogGolden& golden : kLogGolden) {
    assert_int_equal(bits(log<ScalarOps>(values::from_bits(golden.x))), golden.expected);
    assert_true(within_one_ulp(golden.expected, golden.nearest));
  }
}

void pow_has_its_golden_bits(void**) {
  for (const PowGolden& golden : kPowGolden) {
    assert_int_equal(bits(pow<ScalarOps>(values::from_bits(golden.x), values::from_bits(golden.p))), golden.expected);
    assert_true(within_one_ulp(golden.expected, golden.nearest));
  }
}

void log_at_powers_of_two(void**) {
  assert_int_equal(bits(log<ScalarOps>(1.0)), bits(0.0));
  for (int k = -1074; k <= 1023; ++k) {
    const double exact = static_cast<double>(static_cast<long double>(k) * 0.693147180559945309417232121458L);
    assert_true(within_one_ulp(bits(log<ScalarOps>(std::ldexp(1.0, k))), bits(exact)));
  }
}

void pow_of_special_arguments(void**) {
  Random random(3);
  for (std::size_t i = 0; i < 10'000; ++i) {
    const double x = difficult_argument(random, i);
    const double p = difficult_power(random, i);
    assert_int_equal(bits(pow<ScalarOps>(x, 1.0)), bits(x));
    assert_int_equal(bits(pow<ScalarOps>(1.0, p)), bits(1.0));
    assert_int_equal(bits(pow<ScalarOps>(0.0, p)), bits(0.0));
  }
  assert_int_equal(bits(pow<ScalarOps>(2.0, 1024.0)), bits(kInfinity));
  assert_int_equal(bits(pow<ScalarOps>(kLargest, kLargest)), bits(kInfinity));
  assert_int_equal(bits(pow<ScalarOps>(kSmallest, kLargest)), bits(0.0));
  assert_int_equal(bits(pow<ScalarOps>(0.5, 1074.0)), bits(kSmallest));
  assert_int_equal(bits(pow<ScalarOps>(0.5, 1076.0)), bits(0.0));
}

void pow_is_exact_where_a_double_can_be(void**) {
  for (std::uint64_t a = 2; a <= 1000; ++a) {
    std::uint64_t power = a;
    for (int e = 2; power <= (std::uint64_t{1} << 53) / a; ++e) {
      power *= a;
      assert_int_equal(bits(pow<ScalarOps>(static_cast<double>(a), e)), bits(static_cast<double>(power)));
    }
    const double square = static_cast<double>(a * a);
    assert_int_equal(bits(pow<ScalarOps>(square, 0.5)), bits(static_cast<double>(a)));
    assert_int_equal(bits(pow<ScalarOps>(square, 1.5)), bits(static_cast<double>(a * a * a)));
  }
}

// What docs/internals/canonical-key.md proves, against 64 bits or more. Arguments are difficult ones, and those at the
// seams of the reductions: x near 2^k sqrt(1/2), p log x near (n + 1/2) ln 2 and near where results become denormal.
double at_a_seam(Random& random) {
  const double step = 1 + static_cast<double>(random.below(2001) - 1000) * 0x1p-52;
  return std::ldexp(0x1.6a09e667f3bcdp-1 * step, static_cast<int>(random.below(2040)) - 1020);
}

void log_is_as_good_as_proved(void**) {
  Random random(21);
  long double worst = 0;
  for (std::size_t i = 0; i < 300'000; ++i) {
    const double x = i % 4 == 3 ? at_a_seam(random) : difficult_argument(random, i);
    const long double exact = std::log(static_cast<long double>(x));
    const long double error = std::fabs(static_cast<long double>(log<ScalarOps>(x)) - exact);
    if (!(error <= kLogError * std::fabs(exact))) fail_msg("log(%a) is %a", x, log<ScalarOps>(x));
    if (exact != 0) worst = std::max(worst, error / std::fabs(exact));
  }
  print_message("log: the largest relative error is 2^%.1Lf\n", std::log2(worst));
  assert_true(worst > 0x1p-54L);
}

void pow_is_as_good_as_proved(void**) {
  Random random(22);
  long double worst = 0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < 300'000; ++i) {
    const double x = i % 4 == 3 ? at_a_seam(random) : difficult_argument(random, i);
    const long double ln = std::log(static_cast<long double>(x));
    double p = difficult_power(random, i);
    if (i % 3 == 1 && ln != 0) p = static_cast<double>(std::fabs((random.below(2000) + 0.5L) * 0.34657359L / ln));
    if (i % 3 == 2 && ln < 0) p = static_cast<double>(random.uniform(700, 750) / -ln);
    if (!(p > 0 && p <= kLargest)) continue;
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(p));
    if (!(exact <= 0x1p1023L)) continue;
    const long double error = std::fabs(static_cast<long double>(pow<ScalarOps>(x, p)) - exact);
    if (!(error <= kPowError * exact + 0x1p-1074L)) fail_msg("pow(%a, %a) is %a", x, p, pow<ScalarOps>(x, p));
    if (exact > 0x1p-1000L) {
      worst = std::max(worst, error / exact);
      ++counted;
    }
  }
  print_message("pow: the largest relative error of %zu is 2^%.1Lf\n", counted, std::log2(worst));
  assert_true(counted > 100'000 && worst > 0x1p-54L);
}

// The hashes are frozen like the golden values: another compiler or processor must give the same.
void log_is_the_same_on_every_target(void**) {
  const values::FrozenLog frozen;
  const std::vector<double>& x = frozen.x;
  std::vector<double> expected(x.size()), got(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = log<ScalarOps>(x[i]);
  assert_int_equal(hash(x), frozen.kHashOfX);
  assert_int_equal(hash(expected), frozen.kHashOfResults);
  for (const SimdVariant<LogAll>& variant : kLogVariants) {
    if (!simd_target_supported(variant.target)) continue;
    print_message("log on %s\n", simd_target_name(variant.target));
    std::fill(got.begin(), got.end(), -1.0);
    variant.run(x.data(), got.data(), x.size());
    assert_same_bits(got, expected, variant.target);
  }
}

void pow_is_the_same_on_every_target(void**) {
  const values::FrozenPow frozen;
  const std::vector<double>&x = frozen.x, &p = frozen.p;
  std::vector<double> expected(x.size()), got(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = pow<ScalarOps>(x[i], p[i]);
  assert_int_equal(hash(x), frozen.kHashOfX);
  assert_int_equal(hash(p), frozen.kHashOfP);
  assert_int_equal(hash(expected), frozen.kHashOfResults);
  for (const SimdVariant<PowAll>& variant : kPowVariants) {
    if (!simd_target_supported(variant.target)) continue;
    print_message("pow on %s\n", simd_target_name(variant.target));
    std::fill(got.begin(), got.end(), -1.0);
    variant.run(x.data(), p.data(), got.data(), x.size());
    assert_same_bits(got, expected, variant.target);
  }
}

void operations_are_the_same_on_every_target(void**) {
  const double edges[] = {0.0,       -0.0,       1.0,       -1.0,     0.1,         -3.5,
                          kSmallest, -kSmallest, 0x1p-1022, kLargest, 1 + 0x1p-52, 1e200};
  std::vector<double> a, b, c;
  for (const double x : edges) {
    for (const double y : edges) {
      for (const double z : edges) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
    }
  }
  Random random(4);
  while (a.size() < 20'000) {
    a.push_back(random.uniform(-2.0, 2.0));
    b.push_back(random.uniform(-2.0, 2.0));
    c.push_back(-a.back() * b.back());  // leaves the rounding error of the product, which only a fused operation sees
  }
  using Ops = ScalarOps;
  const std::size_t n = a.size();
  std::vector<double> expected;
  const auto append = [&](auto operation) {
    for (std::size_t i = 0; i < n; ++i) expected.push_back(operation(a[i], b[i], c[i]));
  };
  append([](double x, double y, double) { return Ops::add(x, y); });
  append([](double x, double y, double) { return Ops::sub(x, y); });
  append([](double x, double y, double) { return Ops::mul(x, y); });
  append([](double x, double y, double) { return Ops::div(x, y); });
  append([](double x, double y, double z) { return Ops::fma(x, y, z); });
  append([](double x, double y, double z) { return Ops::fms(x, y, z); });
  append([](double x, double y, double z) { return Ops::fnma(x, y, z); });
  append([](double x, double, double) { return Ops::sqrt(Ops::abs(x)); });
  append([](double x, double y, double) { return Ops::max(x, y); });
  append([](double x, double y, double) { return Ops::min(x, y); });
  append([](double x, double y, double) { return Ops::mask_or(Ops::less(x, y), Ops::equal(x, y)) ? 1.0 : 0.0; });
  append([](double x, double y, double z) {
    return Ops::select(Ops::mask_and(Ops::mask_not(Ops::less(x, y)), Ops::equal(x, y)), x, z);
  });
  for (const SimdVariant<OpsAll>& variant : kOpsVariants) {
    if (!simd_target_supported(variant.target)) continue;
    std::vector<double> got(expected.size());
    variant.run(a.data(), b.data(), c.data(), got.data(), n);
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(got[i]) && std::isnan(expected[i])) got[i] = expected[i];  // a NaN's sign and payload are nobody's
    }
    assert_same_bits(got, expected, variant.target);
  }
}

}  // namespace
}  // namespace libknng

int main() {
  using namespace libknng;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(log_has_its_golden_bits),
      cmocka_unit_test(pow_has_its_golden_bits),
      cmocka_unit_test(log_at_powers_of_two),
      cmocka_unit_test(log_is_as_good_as_proved),
      cmocka_unit_test(pow_is_as_good_as_proved),
      cmocka_unit_test(pow_of_special_arguments),
      cmocka_unit_test(pow_is_exact_where_a_double_can_be),
      cmocka_unit_test(operations_are_the_same_on_every_target),
      cmocka_unit_test(log_is_the_same_on_every_target),
      cmocka_unit_test(pow_is_the_same_on_every_target),
  };
  return cmocka_run_group_tests_name("elementary", tests, nullptr, nullptr);
}

#endif  // HWY_ONCE
