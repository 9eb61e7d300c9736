// An order of points that has nothing to do with how they are stored: a permutation that is computed, point by point.
// Four rounds of a Feistel network are one of the numbers of so many bits; it is walked along until a number below the
// count comes (J. Black and P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
#pragma once

#include <bit>
#include <cstdint>

#include "core/random_bits.h"

namespace libknng {

class ScatteredOrder {
 public:
  explicit constexpr ScatteredOrder(std::int64_t points) noexcept
      : points_(static_cast<std::uint64_t>(points)),
        half_bits_((static_cast<int>(std::bit_width(points > 1 ? points_ - 1 : 1)) + 1) / 2) {}

  // The point at a place, 0 <= place < points: the same in every run.
  constexpr std::int64_t operator[](std::int64_t place) const noexcept {
    auto x = static_cast<std::uint64_t>(place);
    do x = exchanged(x);
    while (x >= points_);
    return static_cast<std::int64_t>(x);
  }

 private:
  constexpr std::uint64_t exchanged(std::uint64_t x) const noexcept {
    constexpr std::uint64_t kRounds = 4;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_, right = x & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (random_bits(round << 32 | right) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t points_;
  int half_bits_;
};

}  // namespace libknng
