// Doubles for the unit tests: their bits, reproducible random ones, and nasty ones. golden_keys.py has the same
// generator. Knows nothing of the library.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace values {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kLargest = std::numeric_limits<double>::max();
inline constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
inline constexpr double kSmallestNormal = std::numeric_limits<double>::min();

inline std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
inline double from_bits(std::uint64_t x) { return std::bit_cast<double>(x); }

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // 0 .. n - 1
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
  // -1 .. 1, 53 bits
  double uniform() { return static_cast<double>(static_cast<std::int64_t>(next()) >> 10) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }
  // Every positive number is as likely as any other, those below the normal ones too.
  double positive_finite() { return from_bits(1 + next() % (bits(kInfinity) - 1)); }
  double denormal() { return from_bits(1 + (next() & 0xFFFFFFFFFFFFE) % 0xFFFFFFFFFFFFE); }
  // 1 and up to a million numbers to either side of it.
  double near_one() { return from_bits(bits(1.0) + next() % 2'000'001 - 1'000'000); }
  // Every exponent is as likely as any other; both signs, denormals included.
  double any_magnitude() {
    const std::uint64_t pattern = next();
    return (pattern & 0x7FF0000000000000) == 0x7FF0000000000000 ? from_bits(pattern & 0xBFFFFFFFFFFFFFFF)
                                                                : from_bits(pattern);
  }

 private:
  std::uint64_t state_;
};

// Values within +-limit at which arithmetic goes wrong first.
inline double nasty(Random& random, double limit) {
  const double some[] = {0.0,     -0.0,     kSmallest, -kSmallest, kSmallestNormal, -kSmallestNormal, 0x1p-1022 * 0.5,
                         1.0,     -1.0,     0.1,       1 / 3.0,    1 + 0x1p-52,     1 - 0x1p-53,      0x1p-511,
                         0x1p511, -0x1p511, 1e-300,    1e300,      limit,           -limit,           limit / 2};
  constexpr std::int64_t kSome = std::size(some);
  const std::int64_t which = random.below(kSome + 4);
  const double value = which < kSome ? some[which] : which < kSome + 2 ? random.any_magnitude() : random.uniform();
  return std::fabs(value) <= limit ? value : std::copysign(limit, value);
}

}  // namespace values
