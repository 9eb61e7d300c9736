// The arithmetic policy of one double: what every canonical computation is written in.
//
// Canonical code is a template over a policy `Ops` and uses nothing else for arithmetic, so that the scalar CPU, each
// SIMD width (backend/cpu/hwy_ops-inl.h) and the GPU run the same operations in the same order and give the same bits.
// Every operation here is correctly rounded to nearest, ties to even (IEEE 754-2019, section 4.3), and none is ever
// contracted: device code says so with the _rn intrinsics, host code is compiled with -ffp-contract=off and asks for
// std::fma where a fused operation is meant.
//
// This file must not know about metrics, vectors or CUDA headers.
#ifndef KNNG_METRIC_OPS_H
#define KNNG_METRIC_OPS_H

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/host_device.h"

namespace libknng {

// Bit patterns that the policies need to take doubles apart (binary64: 52 fraction bits, exponent bias 1023).
namespace binary64 {
inline constexpr std::uint64_t kOne = 0x3FF0000000000000;       // bits of 1.0
inline constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;  // bits of sqrt(1/2), rounded up
inline constexpr std::uint64_t kSignAndExponent = 0xFFF0000000000000;
inline constexpr std::uint64_t kTwo52 = 0x4330000000000000;  // bits of 2^52, whose last place is 1
inline constexpr double kTwo52Biased = 0x1p52 + 1023;        // integers + bias, read off the last places
}  // namespace binary64

struct ScalarOps {
  using Real = double;
  using Mask = bool;
  static constexpr std::size_t kLanes = 1;

  KNNG_HD static Real set(double value) { return value; }
  KNNG_HD static Real load(const double* from) { return *from; }
  KNNG_HD static void store(Real a, double* to) { *to = a; }

  KNNG_HD static Real add(Real a, Real b) {
#ifdef __CUDA_ARCH__
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
  }

  KNNG_HD static Real sub(Real a, Real b) {
#ifdef __CUDA_ARCH__
    return __dsub_rn(a, b);
#else
    return a - b;
#endif
  }

  KNNG_HD static Real mul(Real a, Real b) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
  }

  KNNG_HD static Real div(Real a, Real b) {
#ifdef __CUDA_ARCH__
    return __ddiv_rn(a, b);
#else
    return a / b;
#endif
  }

  KNNG_HD static Real sqrt(Real a) {
#ifdef __CUDA_ARCH__
    return __dsqrt_rn(a);
#else
    return std::sqrt(a);
#endif
  }

  // a b + c, rounded once.
  KNNG_HD static Real fma(Real a, Real b, Real c) {
#ifdef __CUDA_ARCH__
    return __fma_rn(a, b, c);
#else
    return std::fma(a, b, c);
#endif
  }

  // a b - c, rounded once.
  KNNG_HD static Real fms(Real a, Real b, Real c) { return fma(a, b, -c); }

  // c - a b, rounded once.
  KNNG_HD static Real fnma(Real a, Real b, Real c) { return fma(-a, b, c); }

  KNNG_HD static Real abs(Real a) {
#ifdef __CUDA_ARCH__
    return ::fabs(a);  // becomes a modifier of the operand
#else
    return from_bits(to_bits(a) & ~(std::uint64_t{1} << 63));
#endif
  }

  // As MAXPD and MINPD: the second operand when they are equal (+0 and -0 are) or when one is NaN.
  KNNG_HD static Real max(Real a, Real b) { return b < a ? a : b; }
  KNNG_HD static Real min(Real a, Real b) { return a < b ? a : b; }

  KNNG_HD static Mask less(Real a, Real b) { return a < b; }
  KNNG_HD static Mask equal(Real a, Real b) { return a == b; }
  KNNG_HD static Mask mask_and(Mask a, Mask b) { return a && b; }
  KNNG_HD static Mask mask_or(Mask a, Mask b) { return a || b; }
  KNNG_HD static Mask mask_not(Mask a) { return !a; }
  KNNG_HD static Real select(Mask mask, Real yes, Real no) { return mask ? yes : no; }

  // x = result 2^exponent with sqrt(1/2) <= result < sqrt(2), for normal x > 0. Adding the distance from sqrt(1/2) to
  // 1 carries into the exponent field exactly when the fraction is at least that of sqrt(2).
  KNNG_HD static Real split(Real x, Real& exponent) {
    const std::uint64_t bits = to_bits(x);
    const std::uint64_t shifted = bits + (binary64::kOne - binary64::kSqrtHalf);
    exponent = sub(from_bits((shifted >> 52) | binary64::kTwo52), binary64::kTwo52Biased);
    return from_bits(bits - (shifted & binary64::kSignAndExponent) + binary64::kOne);
  }

  // 2^n for an integer n, -1022 <= n <= 1023.
  KNNG_HD static Real power_of_two(Real n) { return from_bits(to_bits(add(n, binary64::kTwo52Biased)) << 52); }

 private:
  KNNG_HD static std::uint64_t to_bits(double a) {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint64_t>(__double_as_longlong(a));
#else
    return std::bit_cast<std::uint64_t>(a);
#endif
  }

  KNNG_HD static double from_bits(std::uint64_t bits) {
#ifdef __CUDA_ARCH__
    return __longlong_as_double(static_cast<long long>(bits));
#else
    return std::bit_cast<double>(bits);
#endif
  }
};

}  // namespace libknng

#endif  // KNNG_METRIC_OPS_H
