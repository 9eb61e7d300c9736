// The product units of several devices joined into one model: in any order the same, and wider than each. And why: the
// key of a pair whose lower bound a session of an older chip made lies beyond the upper bound that one of a newer chip
// would make of it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/cuda/engines/rounding_model.h"
#include "backend/units.h"
#include "metric/metric.h"
#include "refine/bound.h"
#include "refine/low_bound.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;
using libknng::cuda::fp16_unit;
using libknng::cuda::tensor_cores_of;

namespace {

knng_backend_units units_of_chip(int compute_major) {
  const cuda::TensorCores chip = tensor_cores_of(compute_major);
  return {KNNG_UNIT_FP16 | KNNG_UNIT_FP32, chip.lost, chip.shortest};
}

bool same(const knng_backend_units& a, const knng_backend_units& b) {
  return a.usable == b.usable && a.lost == b.lost && a.shortest == b.shortest;
}

// Models that no order has, too: larger in one constant, smaller in another.
std::vector<knng_backend_units> models() {
  return {units_of_chip(7),
          units_of_chip(8),
          units_of_chip(9),
          units_of_chip(10),
          {KNNG_UNIT_FP16, 10 * 0x1p-24, 0x1p-12},
          {KNNG_UNIT_FP32 | KNNG_UNIT_BYTES, 100 * 0x1p-24, 0x1p-24}};
}

void the_weakest_does_not_depend_on_the_order(void**) {
  const std::vector<knng_backend_units> all = models();
  for (const auto& a : all) {
    assert_true(same(weakest(a, a), a));
    for (const auto& b : all) {
      assert_true(same(weakest(a, b), weakest(b, a)));
      for (const auto& c : all) assert_true(same(weakest(weakest(a, b), c), weakest(a, weakest(b, c))));
    }
  }
}

void its_bound_holds_for_each(void**) {
  const std::vector<knng_backend_units> all = models();
  for (const auto& a : all)
    for (const auto& b : all) {
      const knng_backend_units one = weakest(a, b);
      assert_int_equal(one.usable & ~a.usable, 0);
      assert_int_equal(one.usable & ~b.usable, 0);
      for (const std::int64_t terms : {1, 16, 17, 1000, 3 << 18}) {
        const ProductUnit bound = fp16_unit(terms, one.lost, one.shortest);
        for (const auto& device : {a, b}) {
          const ProductUnit own = fp16_unit(terms, device.lost, device.shortest);
          assert_true(bound.gamma >= own.gamma && bound.eta >= own.eta);
        }
      }
    }
}

// Pairs whose keys lie beyond up = low + 2 (b + b), low of one session and b of another, of all pairs of some rows.
// Rows are small integers: their operands and products are exact.
int beyond(const knng_backend_units& of_low, const knng_backend_units& of_up) {
  constexpr std::int64_t kRows = 40, kDim = 64;
  const Metric metric = find_metric("sqeuclidean", 0);
  values::Random random(5);
  std::vector<std::vector<double>> rows(kRows, std::vector<double>(kDim));
  for (auto& row : rows)
    for (double& x : row) x = static_cast<double>(random.below(5)) - 2;
  const LowBound::Rounding rounding{LowBound::kSmallestRatio};
  const auto bound_of = [&](const knng_backend_units& units) {
    return LowBound(metric, kDim, 1, fp16_unit(kDim, units.lost, units.shortest), rounding);
  };
  const LowBound there = bound_of(of_low), here = bound_of(of_up);
  const auto dot = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t t = 0; t < rows[i].size(); ++t) sum += rows[i][t] * rows[j][t];
    return sum;
  };
  int found = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto term = [&](std::size_t point) {
        const OperandSums sums{dot(point, point), 0, 0};
        return round_down(there.term(sums, static_cast<double>(round_up(there.bound(sums)))));
      };
      const auto bound = [&](std::size_t point) {
        return static_cast<double>(round_up(here.bound({dot(point, point), 0, 0})));
      };
      const float low = (term(i) + term(j)) - 2 * static_cast<float>(dot(i, j));
      const double key = dot(i, i) + dot(j, j) - 2 * dot(i, j);
      assert_true(static_cast<double>(low) <= key);
      found += key > static_cast<double>(low) + 2 * (bound(i) + bound(j));
    }
  return found;
}

void sessions_of_two_models_must_not_join_lists(void**) {
  const knng_backend_units ampere = units_of_chip(8), hopper = units_of_chip(9);
  const knng_backend_units one = weakest(hopper, ampere);
  assert_int_equal(beyond(ampere, hopper), 780);  // all
  assert_int_equal(beyond(one, one), 0);
  assert_int_equal(beyond(hopper, hopper), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_weakest_does_not_depend_on_the_order),
      cmocka_unit_test(its_bound_holds_for_each),
      cmocka_unit_test(sessions_of_two_models_must_not_join_lists),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
