// Pseudo-random numbers: the same in every run and on every machine.
#pragma once

#include <cstdint>

namespace libknng {

// The i-th of a sequence. splitmix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014.
constexpr std::uint64_t random_bits(std::uint64_t i) noexcept {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace libknng
