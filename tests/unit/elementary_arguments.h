// Arguments at which log and pow are used or difficult, and the frozen hashes of some and of their results, which
// another compiler, processor or device must give as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/unit/values.h"

namespace values {

// One third over all magnitudes, the rest where log and pow are used or difficult.
inline double difficult_argument(Random& random, std::size_t i) {
  switch (i % 6) {
    case 0:
    case 1: return random.positive_finite();
    case 2: return random.uniform(0.0, 1.0) + 0x1p-60;
    case 3: return random.near_one();
    case 4: return random.denormal();
    default: return random.uniform(0.5, 2.0);
  }
}

inline double difficult_power(Random& random, std::size_t i) {
  switch (i % 5) {
    case 0: return random.positive_finite();
    case 1: return static_cast<double>(1 + random.next() % 40) / 2;
    case 2: return random.uniform(0.0, 1.0) + 0x1p-60;
    case 3: return random.uniform(0.0, 2000.0) + 0x1p-60;
    default: return random.near_one();
  }
}

// FNV-1a over the bit patterns, low byte first.
inline std::uint64_t hash(const std::vector<double>& values) {
  std::uint64_t h = 0xCBF29CE484222325;
  for (const double v : values)
    for (int shift = 0; shift < 64; shift += 8) h = (h ^ ((bits(v) >> shift) & 0xFF)) * 0x100000001B3;
  return h;
}

inline constexpr std::size_t kFrozenArguments = 100'000;  // a multiple of 32

struct FrozenLog {
  static constexpr std::uint64_t kHashOfX = 0xD49D024AB2EF884D, kHashOfResults = 0x6F2291A467BED1F8;
  FrozenLog() : x(kFrozenArguments) {
    Random random(1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = difficult_argument(random, i);
  }
  std::vector<double> x;
};

struct FrozenPow {
  static constexpr std::uint64_t kHashOfX = 0x155BD91FFF6B4A6F, kHashOfP = 0x1B6D7F5CAB1A1D3F,
                                 kHashOfResults = 0xDE4C230811A3FDA3;
  FrozenPow() : x(kFrozenArguments), p(kFrozenArguments) {
    Random random(2);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = i % 97 == 0 ? 0.0 : difficult_argument(random, i);
      p[i] = i % 89 == 0 ? 1.0 : difficult_power(random, i);
    }
  }
  std::vector<double> x, p;
};

}  // namespace values
