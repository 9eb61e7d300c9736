// Floating-point numbers as integers of the same order, for radix digits and integer comparisons.
#pragma once

#include <cstdint>

namespace libknng::cuda {

// Integers in the order of the values, equal where these are (-0 becomes +0).
__device__ inline std::uint64_t orderable(double x) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(__dadd_rn(x, 0.0)));
  return bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}
__device__ inline std::uint32_t orderable(float x) {
  const std::uint32_t bits = __float_as_uint(__fadd_rn(x, 0.0f));
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

}  // namespace libknng::cuda
