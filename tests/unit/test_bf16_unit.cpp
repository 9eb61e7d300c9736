// The units that multiply bfloat16 (docs/internals/error-bound.md, "bfloat16"), as their maker's manual says they add
// up, in plain code: their bounds under attack on every processor. test_bf16.cpp attacks the processor's own.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/float_env.h"
#include "filter_products.h"
#include "refine/bound.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

using Row = std::vector<float>;

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }
// a b + c rounded once, to nearest; what comes out as a denormal becomes 0.
float add_product(float a, float b, float c) { return flushed(std::fma(a, b, c)); }

float vector_product(const Row& a, const Row& b) {
  float sum = 0;
  for (std::size_t t = 0; t < a.size(); ++t) sum = add_product(a[t], b[t], sum);
  return sum;
}

float tile_product(const Row& a, const Row& b) {
  float sum = 0;
  for (std::size_t first = 0; first < a.size(); first += 32) {
    float chains[2] = {};
    for (std::size_t t = first; t < std::min(first + 32, a.size()); ++t)
      chains[t % 2] = add_product(a[t], b[t], chains[t % 2]);
    sum = flushed(sum + flushed(chains[0] + chains[1]));
  }
  return sum;
}

struct Unit {
  const char* name;
  float (*product)(const Row& a, const Row& b);
  ProductUnit (*bound)(std::int64_t dim) noexcept;
};
const Unit kUnits[] = {{"vdpbf16ps", vector_product, bf16_vector_unit}, {"tdpbf16ps", tile_product, bf16_tile_unit}};
constexpr std::int64_t kDims[] = {2, 3, 4, 5, 6, 7, 8, 31, 32, 33, 34, 64, 65, 100, 512, 784, 2000, 20000};

// A product of 1, and others just above half an ulp of it or at a tie, in each place where one is an addition of its
// own: all coordinates of the vector unit; of tiles the first chain, one coordinate beside it, and one a step.
std::vector<Row> attacks(std::int64_t d) {
  std::vector<Row> all;
  for (const bool every : {true, false})
    for (const float value : {0x1p-12f, 0x1.02p-12f}) {
      Row row(static_cast<std::size_t>(d));
      for (std::int64_t t = 0; t < d; ++t)
        if (every || (t < 32 ? t % 2 == 0 || t == 1 : t % 32 == 0)) row[static_cast<std::size_t>(t)] = value;
      row.front() = 1;
      all.push_back(row);
    }
  return all;
}

void roundings_reach_their_bound(void**) {
  const FloatEnv env;
  for (const Unit& unit : kUnits)
    for (const std::int64_t d : kDims) {
      long double worst = 0;
      for (const Row& row : attacks(d)) {
        const long double ratio = ProductTruth(row, row, unit.bound(d)).ratio(unit.product(row, row));
        assert_true(ratio <= 1);
        worst = std::max(worst, ratio);
      }
      print_message("%s, d = %lld: %.4Lf of the bound\n", unit.name, static_cast<long long>(d), worst);
      // In one step of the tile's, chains are half as long as is counted.
      assert_true(worst >= (unit.product == tile_product && d > 3 && d < 32 ? 0.5L : 0.95L));
    }
}

// Products just below the smallest normal number: each loses what flushing can take.
void flushing_stays_within_its_bound(void**) {
  const FloatEnv env;
  for (const Unit& unit : kUnits)
    for (const std::int64_t d : {1, 2, 8, 31, 32, 33, 784}) {
      const auto n = static_cast<std::size_t>(d);
      const Row a(n, 0x1p-63f), b(n, 0x1.fep-64f);
      const long double worst = ProductTruth(a, b, unit.bound(d)).ratio(unit.product(a, b));
      assert_true(worst <= 1);
      print_message("%s, d = %lld: flushing takes %.4Lf of the bound\n", unit.name, static_cast<long long>(d), worst);
      assert_true(worst >= (unit.product == vector_product ? 0.75L : 0.5L));
    }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(roundings_reach_their_bound),
      cmocka_unit_test(flushing_stays_within_its_bound),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
