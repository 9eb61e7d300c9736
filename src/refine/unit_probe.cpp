#include "refine/unit_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace libknng {
namespace {

constexpr double kUlp = 0x1p-23;  // of 1, in single precision

struct Factors {
  double a, b;
};

class Maker {
 public:
  explicit Maker(std::int64_t terms) : terms_(terms) {}

  // value(t): the t-th term. Its product is exact in fp64. Where the sum is as well, in any order, nothing else may
  // come of it.
  template <class F>
  Probe& exact(const char* name, F&& value) {
    Probe& probe = all_.emplace_back(Probe{name, {}, {}, 0, 0});
    double sum = 0;
    for (std::int64_t t = 0; t < terms_; ++t) {
      const Factors x = value(t);
      probe.a.push_back(static_cast<float>(x.a));
      probe.b.push_back(static_cast<float>(x.b));
      sum += x.a * x.b;
    }
    probe.least = probe.most = sum;
    return probe;
  }
  template <class F>
  void within(const char* name, F&& value, double below, double above) {
    Probe& probe = exact(name, value);
    probe.least -= below;
    probe.most += above;
  }
  // Whatever the unit's bound allows.
  template <class F>
  void bounded(const char* name, const ProductUnit& unit, double shortest, F&& value) {
    Probe& probe = exact(name, value);
    double aa = shortest * shortest, bb = aa;
    for (const float a : probe.a) aa += static_cast<double>(a) * static_cast<double>(a);
    for (const float b : probe.b) bb += static_cast<double>(b) * static_cast<double>(b);
    // The sum in fp64 is off by less than its last term.
    const double error = std::sqrt(aa * bb) * (unit.gamma + static_cast<double>(terms_ + 8) * 0x1p-52) + unit.eta;
    probe.least -= error;
    probe.most += error;
  }

  std::vector<Probe> take() { return std::move(all_); }

 private:
  std::int64_t terms_;
  std::vector<Probe> all_;
};

// A large term among small ones.
constexpr Factors kOne{1, 1};

// One term beside zeros.
auto alone(double a, double b) {
  return [a, b](std::int64_t t) { return t == 0 ? Factors{a, b} : Factors{0, 0}; };
}

// 1 and nearly a unit in its last place, beside zeros: rounded to nearest once, whatever the order.
void one_rounding(Maker& maker) {
  for (const std::int64_t place : {1, 2, 7})
    maker.within(
        "two terms",
        [place](std::int64_t t) {
          return t == 0 ? kOne : t == place ? Factors{0x1p-11, 0x1p-12 * (1 - 0x1p-8)} : Factors{0, 0};
        },
        kUlp / 2, kUlp / 2);
}

// Sums of which every part is a number of single precision: a unit in the last place of 1, again and again, and 1.
void exact_sums(Maker& maker, std::int64_t terms) {
  constexpr Factors small{0x1p-11, 0x1p-12};
  static_assert(small.a * small.b == kUlp);
  maker.exact("large first", [&](std::int64_t t) { return t == 0 ? kOne : small; });
  maker.exact("large amid", [&](std::int64_t t) { return t == terms / 2 ? kOne : small; });
  maker.exact("large last", [&](std::int64_t t) { return t == terms - 1 ? kOne : small; });
  maker.exact("negative", [&](std::int64_t t) { return t == 0 ? Factors{-1, 1} : Factors{-small.a, small.b}; });
  maker.exact("large comes and goes", [&](std::int64_t t) {
    return t == 0 ? kOne : t == terms - 1 ? Factors{-1, 1} : small;
  });
}

}  // namespace

std::vector<Probe> tensor_core_probes(std::int64_t terms, const ProductUnit& unit, const TensorModel& model) {
  Maker maker(terms);
  exact_sums(maker, terms);
  maker.exact("all bits", alone(2 - 0x1p-10, 2 - 0x1p-10));
  // A product of `units` of what alignment leaves.
  const auto small = [&](int units) { return Factors{units * model.aligned * 0x1p12, 0x1p-12}; };

  // Where the model leaves more bits than single precision has, beside 1. A fused operation rounds three quarters of a
  // unit in the last place up, and joins few chains; tensor cores cut off each group's sum. In groups of half the size
  // sums of the second pattern are cut off twice as often.
  if (const double n = static_cast<double>(terms); model.aligned == kUlp / 4) {
    const double groups = n / model.group + 1, joins = n / 64 + 2;
    const double below = groups * (kUlp - model.aligned) + joins * kUlp, above = n * kUlp / 2;
    maker.within(
        "alignment", [&](std::int64_t t) { return t == 0 ? kOne : small(3); }, below, above);
    maker.within(
        "groups", [&](std::int64_t t) { return t == 0 ? kOne : small(t % 4 == 3 ? 2 : 3); }, below, above);
  }
  // The exponent of a denormal factor is at most that of `shortest`: products of such a one, which is that of 1 then
  // and so cuts off nothing here, and which are small enough for sums to be exact.
  const Factors large{0x1p-24, 1 / model.shortest};
  maker.exact("denormals and large", [&](std::int64_t t) { return t % 4 == 0 && t < 1024 ? large : small(3); });
  maker.exact("denormals", [](std::int64_t t) { return Factors{t % 2 ? 0x3p-24 : 0x1p-24, 0x1p-2}; });
  maker.exact("denormals twice", [](std::int64_t) { return Factors{0x1p-24, 0x1p-24}; });

  // Of 27 bits fp16 holds only one such factor: below 2^-14 it has fewer.
  const auto just_below = [](int bits) {
    return Factors{std::ldexp(1 - 0x1p-11, -(bits / 2)), std::ldexp(bits < 27 ? 1 - 0x1p-11 : 1, bits / 2 - bits)};
  };
  constexpr std::array<const char*, 5> kNames = {"just below 23 bits", "just below 24 bits", "just below 25 bits",
                                                 "just below 26 bits", "just below 27 bits"};
  for (int i = 0; i < static_cast<int>(kNames.size()); ++i)
    maker.bounded(kNames[static_cast<std::size_t>(i)], unit, model.shortest,
                  [&](std::int64_t t) { return t == 0 ? kOne : just_below(23 + i); });
  maker.bounded("cancelling", unit, model.shortest, [](std::int64_t t) {
    const double x = 1 + static_cast<double>(t / 2 * 37 % 101) * 0x1p-7;
    return Factors{x, t % 2 ? -x : x};
  });
  maker.bounded("growing", unit, model.shortest, [&](std::int64_t t) {
    const double x = std::ldexp(1.375, static_cast<int>(28 * t / terms) - 14);
    return Factors{x, x};
  });
  return maker.take();
}

std::vector<Probe> fp32_probes(std::int64_t terms) {
  Maker maker(terms);
  exact_sums(maker, terms);
  maker.exact("last bit of a factor", alone(1 + kUlp, 1));
  maker.exact("last bit of the other factor", alone(1, 1 + kUlp));
  // A product rounds to nearest: 0.99 of a unit in the last place are not lost.
  constexpr double kFactor = 1 + 2882 * kUlp;
  maker.within("product", alone(kFactor, kFactor), kUlp / 2, kUlp / 2);
  maker.within("all bits", alone(2 - kUlp, 2 - kUlp), kUlp, kUlp);
  // So does a sum.
  one_rounding(maker);
  maker.bounded("just below the last bit", fp32_unit(terms), 0, [](std::int64_t t) {
    return t == 0 ? kOne : Factors{0x1p-11, 0x1p-12 * (1 - 0x1p-12)};
  });
  maker.exact("denormal products", [](std::int64_t) { return Factors{0x1p-70, 0x1p-70}; });
  maker.exact("denormal factors", [](std::int64_t) { return Factors{0x1p-140, 0x1p20}; });
  maker.bounded("growing", fp32_unit(terms), 0, [&](std::int64_t t) {
    const double x = std::ldexp(1.375, static_cast<int>(28 * t / terms) - 14);
    return Factors{x, x};
  });
  return maker.take();
}

std::vector<Probe> bf16_probes(std::int64_t terms, const ProductUnit& unit) {
  Maker maker(terms);
  exact_sums(maker, terms);
  maker.exact("all bits", alone(2 - 0x1p-7, 2 - 0x1p-7));
  one_rounding(maker);
  // Cut off, it would be lost as often as it comes.
  constexpr Factors just_below{0x1p-11, 0x1p-12 * (1 - 0x1p-8)};
  maker.bounded("just below the last bit", unit, 0, [&](std::int64_t t) { return t == 0 ? kOne : just_below; });
  // Rounded to nearest it is lost as often as it is added to 1: in any order, or once a step.
  constexpr Factors half{0x1p-12, 0x1p-12 * (1 - 0x1p-8)};
  maker.bounded("just below half of it", unit, 0, [&](std::int64_t t) { return t == 0 ? kOne : half; });
  maker.exact("smallest normal products", [](std::int64_t) { return Factors{0x1p-63, 0x1p-63}; });
  Probe& denormal = maker.exact("denormal products", [](std::int64_t) { return Factors{0x1p-63, 0x1p-64}; });
  denormal.least = 0;
  maker.bounded("growing", unit, 0, [&](std::int64_t t) {
    const double x = std::ldexp(1.375, static_cast<int>(28 * t / terms) - 14);
    return Factors{x, x};
  });
  return maker.take();
}

std::vector<Probe> fp64_probes(std::int64_t terms) {
  Maker maker(terms);
  exact_sums(maker, terms);
  maker.exact("all bits", alone(2 - kUlp, 2 - kUlp));
  maker.exact("integers", [](std::int64_t t) {  // of 20 bits: sums of 2^13 have no more than 53
    return Factors{static_cast<double>(t * 7919 % 0x100000), static_cast<double>(t % 2 ? -1 : 1) * 0xfffffp0};
  });
  maker.exact("small beside a large factor", [](std::int64_t t) {
    return t == 0 ? Factors{0x1p100, 0} : t == 1 ? kOne : Factors{0, 0x1p100};
  });
  maker.exact("40 bits apart", [&](std::int64_t t) {
    return t == 0 ? Factors{0x1p20, 0x1p20} : t == terms - 1 ? Factors{-0x1p20, 0x1p20} : Factors{0x1p-6, 0x1p-6};
  });
  maker.exact("small products", [](std::int64_t) { return Factors{0x1p-140, 0x1p-140}; });
  return maker.take();
}

std::vector<Probe> byte_probes(std::int64_t terms) {
  Maker maker(terms);
  maker.exact("largest", [](std::int64_t) { return Factors{-128, -128}; });
  maker.exact("least", [](std::int64_t) { return Factors{127, -128}; });
  maker.exact("last bit first", [](std::int64_t t) { return t == 0 ? kOne : Factors{-128, -128}; });
  maker.exact("last bit last", [&](std::int64_t t) { return t == terms - 1 ? kOne : Factors{-128, -128}; });
  maker.exact("mixed", [](std::int64_t t) {
    return Factors{static_cast<double>(t * 37 % 256 - 128), static_cast<double>(t * 91 % 256 - 128)};
  });
  return maker.take();
}

std::string objection_to(double result, const Probe& probe) {
  if (result >= probe.least && result <= probe.most) return {};
  std::array<char, 160> text{};
  if (probe.least == probe.most)
    std::snprintf(text.data(), text.size(), "%s: %.9g, not %.9g", probe.name, result, probe.least);
  else
    std::snprintf(text.data(), text.size(), "%s: %.9g, not from %.9g to %.9g", probe.name, result, probe.least,
                  probe.most);
  return text.data();
}

}  // namespace libknng
