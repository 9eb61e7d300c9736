// Verdicts on product units that are none: units as the models have them, in any order that these allow, agree with
// their probes, and units that lose a bit more in one place do not.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/cuda/engines/rounding_model.h"
#include "core/dtype.h"
#include "core/float_env.h"
#include "prepare/operand_panels.h"
#include "refine/unit_probe.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

using Row = std::vector<float>;
using Unit = std::function<double(const Row& a, const Row& b)>;

// As many as short products have, and long ones that are summed in parts.
constexpr std::int64_t kTerms[] = {64, 256, 8192};

double cut(double x, double last) { return std::trunc(x / last) * last; }
float flushed(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }

// ---- ways to add up

// Terms one after the other, joined by additions: `chains` that take turns, the last term first if `descending`.
struct Chains {
  int chains = 1;
  bool descending = false;
};
using Add = std::function<float(float a, float b, float sum)>;
float nearest(float a, float b, float sum) { return std::fma(a, b, sum); }

double chained(const Row& a, const Row& b, const Chains& c, const Add& add) {
  std::vector<float> sums(static_cast<std::size_t>(c.chains));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t t = c.descending ? a.size() - 1 - i : i;
    float& sum = sums[t % sums.size()];
    sum = add(a[t], b[t], sum);
  }
  float all = sums[0];
  for (std::size_t i = 1; i < sums.size(); ++i) all = add(sums[i], 1, all);
  return static_cast<double>(all);
}

// Groups of terms that are aligned to the largest addend, cut off and added, then cut off again (error-bound.md).
struct TensorCores {
  int group = 16, aligned = 25, sum = 23;
  int shortest = -14;  // exponent of a smaller factor
  bool flushes = false;
  int parts = 1;
  bool descending = false;
};

double tensor_product(const Row& a, const Row& b, const TensorCores& u) {
  const auto factor = [&](float x) { return u.flushes && std::fabs(x) < 0x1p-14f ? 0.0 : static_cast<double>(x); };
  const auto exponent = [&](double x) { return x == 0 ? u.shortest : std::max(std::ilogb(x), u.shortest); };
  const auto n = static_cast<std::int64_t>(a.size()), part = n / u.parts;
  float joined = 0;
  for (std::int64_t p = 0; p < u.parts; ++p) {
    double sum = 0;
    for (std::int64_t first = p * part; first < (p + 1) * part; first += u.group) {
      const auto term = [&](std::int64_t t) {
        const auto at = static_cast<std::size_t>(u.descending ? n - 1 - t : t);
        return std::pair(factor(a[at]), factor(b[at]));
      };
      const std::int64_t last = std::min<std::int64_t>(first + u.group, (p + 1) * part);
      int largest = sum == 0 ? -200 : std::ilogb(sum);
      for (std::int64_t t = first; t < last; ++t)
        largest = std::max(largest, exponent(term(t).first) + exponent(term(t).second));
      const double bit = std::ldexp(1, largest - u.aligned);
      sum = cut(sum, bit);
      for (std::int64_t t = first; t < last; ++t) sum += cut(term(t).first * term(t).second, bit);
      if (sum != 0) sum = cut(sum, std::ldexp(1, std::ilogb(sum) - u.sum));
    }
    joined += static_cast<float>(sum);
  }
  return static_cast<double>(joined);
}

// tdpbf16ps: chains of even and of odd terms in each 32.
double stepwise(const Row& a, const Row& b, const Add& add) {
  float sum = 0;
  for (std::size_t first = 0; first < a.size(); first += 32) {
    float chains[2] = {};
    for (std::size_t t = first; t < std::min(first + 32, a.size()); ++t) chains[t % 2] = add(a[t], b[t], chains[t % 2]);
    sum = add(1, add(1, chains[0], chains[1]), sum);
  }
  return static_cast<double>(sum);
}

float flushing(float a, float b, float sum) { return flushed(std::fma(flushed(a), flushed(b), flushed(sum))); }
// Towards zero: the operation is exact in fp64, but where addends are 2^29 apart.
float cutting(float a, float b, float sum) {
  const double exact = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(sum);
  const auto rounded = static_cast<float>(exact);
  return std::fabs(static_cast<double>(rounded)) > std::fabs(exact) ? std::nextafter(rounded, 0.0f) : rounded;
}
// With so many bits behind the first.
float rounded_to(float x, int bits) {
  return x == 0 ? x : std::ldexp(std::nearbyint(std::ldexp(x, bits - std::ilogb(x))), std::ilogb(x) - bits);
}
Add with_sums_of(int bits) {
  return [bits](float a, float b, float sum) { return rounded_to(std::fma(a, b, sum), bits); };
}

// ---- verdicts

std::string objection(const std::vector<Probe>& probes, const Unit& unit) {
  for (const Probe& probe : probes)
    if (std::string found = objection_to(unit(probe.a, probe.b), probe); !found.empty()) return found;
  return {};
}

struct Suspect {
  const char* name;
  Unit unit;
};

using Probes = std::function<std::vector<Probe>(std::int64_t terms)>;

void expect_verdicts(const char* what, const Probes& probes, const std::vector<Suspect>& good,
                     const std::vector<Suspect>& bad) {
  const FloatEnv env;
  for (const std::int64_t terms : kTerms) {
    const std::vector<Probe> all = probes(terms);
    for (const Suspect& s : good) {
      const std::string found = objection(all, s.unit);
      if (!found.empty())
        print_error("%s, %lld terms, %s: %s\n", what, static_cast<long long>(terms), s.name, found.c_str());
      assert_true(found.empty());
    }
    for (const Suspect& s : bad) {
      const std::string found = objection(all, s.unit);
      print_message("%s, %lld terms, %s: %s\n", what, static_cast<long long>(terms), s.name, found.c_str());
      assert_false(found.empty());
    }
  }
}

Suspect tensor(const char* name, const TensorCores& u) {
  return {name, [u](const Row& a, const Row& b) { return tensor_product(a, b, u); }};
}
Suspect chain(const char* name, const Chains& c, const Add& add = nearest) {
  return {name, [c, add](const Row& a, const Row& b) { return chained(a, b, c, add); }};
}
Suspect steps(const char* name, const Add& add) {
  return {name, [add](const Row& a, const Row& b) { return stepwise(a, b, add); }};
}
// Operands are changed before an honest unit has them.
Suspect with_operands(const char* name, float (*change)(float x)) {
  return {name, [change](Row a, Row b) {
            for (float& x : a) x = change(x);
            for (float& x : b) x = change(x);
            return chained(a, b, {}, nearest);
          }};
}

Probes probes_of_chip(int compute_major) {
  return [compute_major](std::int64_t terms) {
    const cuda::TensorCores chip = cuda::tensor_cores_of(compute_major);
    return tensor_core_probes(terms, cuda::fp16_unit(terms, chip.lost, chip.shortest),
                              {chip.aligned, chip.group, chip.shortest});
  };
}

// What every chip may be, and none.
std::vector<Suspect> routes() {
  return {tensor("groups of 16", {}),
          tensor("groups of 8", {.group = 8}),
          tensor("groups of 32", {.group = 32}),
          tensor("the last terms first", {.descending = true}),
          tensor("in parts", {.parts = 4}),
          tensor("in parts, the last terms first", {.group = 8, .parts = 8, .descending = true}),
          tensor("denormals as numbers", {.shortest = -24}),
          tensor("more bits", {.aligned = 30, .sum = 30}),
          chain("fused operations", {}),
          chain("fused operations, the last first", {.descending = true}),
          chain("8 chains of fused operations", {.chains = 8}),
          chain("2 chains of fused operations, the last first", {.chains = 2, .descending = true})};
}
std::vector<Suspect> nobody() {
  return {tensor("denormals flushed", {.flushes = true}),
          tensor("sums of a bit less", {.sum = 22}),
          tensor("sums of a bit less in groups of 4", {.group = 4, .sum = 22}),
          chain("sums in half precision", {}, with_sums_of(10)),
          chain("sums of a bit less, rounded", {}, with_sums_of(22)),
          with_operands("operands in bfloat16", [](float x) { return rounded_to_bf16(static_cast<double>(x)); })};
}

void hopper(void**) {
  std::vector<Suspect> bad = nobody();
  bad.push_back(tensor("alignment of a bit less", {.aligned = 24}));
  bad.push_back(tensor("alignment of a bit less in groups of 8", {.group = 8, .aligned = 24}));
  bad.push_back(tensor("alignment of a bit less, in parts", {.aligned = 24, .parts = 4}));
  bad.push_back(tensor("alignment as before Hopper", {.group = 4, .aligned = 23}));
  bad.push_back(tensor("groups of 4", {.group = 4}));
  bad.push_back(tensor("groups of 1", {.group = 1}));
  bad.push_back(tensor("denormals a bit larger", {.shortest = -13}));
  expect_verdicts("Hopper", probes_of_chip(9), routes(), bad);
}

void other_chips(void**) {
  std::vector<Suspect> good = routes(), bad = nobody();
  good.push_back(tensor("V100", {.group = 4, .aligned = 23}));
  good.push_back(tensor("A100", {.group = 8, .aligned = 24}));
  good.push_back(tensor("V100 in parts", {.group = 4, .aligned = 23, .parts = 8, .descending = true}));
  bad.push_back(tensor("alignment of a bit less", {.group = 4, .aligned = 22}));
  bad.push_back(tensor("denormals a bit larger", {.group = 4, .aligned = 23, .shortest = -13}));
  expect_verdicts("other chips", probes_of_chip(8), good, bad);
}

void single_precision(void**) {
  // Pieces of bfloat16, the smallest products left out.
  const auto pieces = [](int left_out) -> Unit {
    return [left_out](const Row& a, const Row& b) {
      float sum = 0;
      for (std::size_t t = 0; t < a.size(); ++t) {
        float x[3], y[3], of_a = a[t], of_b = b[t];
        for (int i = 0; i < 3; ++i) {
          x[i] = rounded_to_bf16(static_cast<double>(of_a)), y[i] = rounded_to_bf16(static_cast<double>(of_b));
          of_a -= x[i], of_b -= y[i];
        }
        for (int i = 4 - left_out; i >= 0; --i)
          for (int j = std::max(0, i - 2); j <= std::min(i, 2); ++j) sum = std::fma(x[i - j], y[j], sum);
      }
      return static_cast<double>(sum);
    };
  };
  expect_verdicts(
      "fp32", fp32_probes,
      {chain("a fused operation a term", {}), chain("the last first", {.descending = true}),
       chain("16 chains", {.chains = 16}),
       chain("a product and a sum", {},
             [](float a, float b, float sum) {
               const volatile float product = a * b;
               return sum + product;
             })},
      {chain("cut off", {}, cutting),
       chain("denormals flushed", {}, flushing),
       chain("denormal operands flushed", {},
             [](float a, float b, float sum) { return std::fma(flushed(a), flushed(b), sum); }),
       chain("denormal results flushed", {}, [](float a, float b, float sum) { return flushed(std::fma(a, b, sum)); }),
       chain("sums of a bit less", {}, with_sums_of(22)),
       with_operands("TF32", [](float x) { return rounded_to(x, 10); }),
       with_operands("operands of a bit less", [](float x) { return rounded_to(x, 22); }),
       {"six products of three pieces", pieces(2)},
       {"three products of two pieces", pieces(3)}});
}

void double_precision(void**) {
  const auto in_fp64 = [](int chains, bool descending) -> Unit {
    return [=](const Row& a, const Row& b) {
      std::vector<double> sums(static_cast<std::size_t>(chains));
      for (std::size_t i = 0; i < a.size(); ++i) {
        const std::size_t t = descending ? a.size() - 1 - i : i;
        double& sum = sums[t % sums.size()];
        sum = std::fma(static_cast<double>(a[t]), static_cast<double>(b[t]), sum);
      }
      for (std::size_t i = 1; i < sums.size(); ++i) sums[0] += sums[i];
      return sums[0];
    };
  };
  // So many bits of a row's values, counted from the largest, as integers whose products are exact.
  const auto fixed = [](int bits) -> Unit {
    return [bits](const Row& a, const Row& b) {
      const auto cut_row = [bits](const Row& x) {
        float largest = 0;
        for (const float value : x) largest = std::max(largest, std::fabs(value));
        std::vector<double> rounded;
        const double last = largest > 0 ? std::ldexp(1.0, std::ilogb(largest) + 1 - bits) : 1;
        for (const float value : x) rounded.push_back(cut(static_cast<double>(value), last));
        return rounded;
      };
      const std::vector<double> x = cut_row(a), y = cut_row(b);
      double sum = 0;
      for (std::size_t t = 0; t < x.size(); ++t) sum += x[t] * y[t];
      return sum;
    };
  };
  expect_verdicts("fp64", fp64_probes,
                  {{"one after the other", in_fp64(1, false)},
                   {"the last first", in_fp64(1, true)},
                   {"16 chains", in_fp64(16, false)}},
                  {chain("fp32", {}),
                   with_operands("operands of a bit less", [](float x) { return rounded_to(x, 22); }),
                   {"fixed point of 24 bits", fixed(24)},
                   {"fixed point of 53 bits", fixed(53)}});
}

void bfloat16(void**) {
  const auto vectors = [](std::int64_t terms) { return bf16_probes(terms, bf16_vector_unit(terms)); };
  const auto tiles = [](std::int64_t terms) { return bf16_probes(terms, bf16_tile_unit(terms)); };
  const Suspect serial = chain("one after the other", {}, flushing);
  const auto late = [](float a, float b, float sum) {  // flushes twice as much
    const float x = std::fma(a, b, sum);
    return std::fabs(x) < 0x1p-125f ? 0.0f : x;
  };
  const std::vector<Suspect> bad = {chain("cut off", {}, cutting),
                                    steps("cut off in steps", cutting),
                                    chain("sums of a bit less", {}, with_sums_of(22)),
                                    steps("sums of a bit less in steps", with_sums_of(22)),
                                    steps("sums in bfloat16", with_sums_of(7)),
                                    chain("normal numbers flushed", {}, late),
                                    steps("normal numbers flushed in steps", late),
                                    with_operands("operands of a bit less", [](float x) {
                                      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xfffe0000);
                                    })};
  expect_verdicts("vdpbf16ps", vectors,
                  {serial, steps("in steps", flushing), chain("denormals kept", {}),
                   chain("two chains, the last first", {.chains = 2, .descending = true}, flushing)},
                  bad);
  expect_verdicts("tdpbf16ps", tiles, {steps("in steps", flushing), steps("denormals kept", nearest)}, bad);
  // An order in which an operand meets more roundings than the model of tiles has.
  assert_false(objection(tiles(8192), serial.unit).empty());
}

void bytes(void**) {
  const auto exact = [](const Row& a, const Row& b) {
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < a.size(); ++t) sum += static_cast<std::int64_t>(a[t]) * static_cast<std::int64_t>(b[t]);
    return static_cast<double>(sum);
  };
  const auto saturating = [](const Row& a, const Row& b) {  // pairs of products in 16 bits
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < a.size(); t += 2) {
      const double pair = static_cast<double>(a[t]) * static_cast<double>(b[t]) +
                          static_cast<double>(a[t + 1]) * static_cast<double>(b[t + 1]);
      sum += static_cast<std::int64_t>(std::clamp(pair, -32768.0, 32767.0));
    }
    return static_cast<double>(sum);
  };
  expect_verdicts("bytes", byte_probes, {{"exact", exact}}, {{"saturating pairs", saturating}});
  assert_false(
      objection(byte_probes(8192), [](const Row& a, const Row& b) { return chained(a, b, {}, nearest); }).empty());
}

// Operands are exact in the unit's type; beside 1, products just below each bit at which alignment may cut off.
void vectors_are_what_they_say(void**) {
  const auto one_piece = [](float x) {
    return to_double(half_from_double(static_cast<double>(x))) == static_cast<double>(x);
  };
  for (const int major : {8, 9}) {
    std::vector<int> bits;
    for (const Probe& probe : probes_of_chip(major)(64)) {
      for (const Row* side : {&probe.a, &probe.b}) assert_true(std::all_of(side->begin(), side->end(), one_piece));
      const double last = static_cast<double>(probe.a.back()) * static_cast<double>(probe.b.back());
      if (std::string(probe.name).starts_with("just below")) {
        bits.push_back(-1 - std::ilogb(last));
        assert_true(last > std::ldexp(1 - 0x1p-9, -bits.back()) && last < std::ldexp(1, -bits.back()));
      }
    }
    assert_true(bits == std::vector<int>({23, 24, 25, 26, 27}));
  }
}

void nothing_is_no_number(void**) {
  for (const Probe& probe : fp32_probes(64)) assert_false(objection_to(std::nan(""), probe).empty());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(hopper),
      cmocka_unit_test(other_chips),
      cmocka_unit_test(single_precision),
      cmocka_unit_test(double_precision),
      cmocka_unit_test(bfloat16),
      cmocka_unit_test(bytes),
      cmocka_unit_test(nothing_is_no_number),
      cmocka_unit_test(vectors_are_what_they_say),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
