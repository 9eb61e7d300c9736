// The element types of rows: size, name, which of their values rows may have, and exact conversion of these to double.
// Rounding conversions the other way.
// Knows nothing of matrices.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/error.h"

namespace libknng {

// As in DLPack, the lower eight bits of a code are the bits of an element.
constexpr std::int64_t dtype_bytes(std::int32_t code) { return (code & 0xff) / 8; }

// Storage of the two half precision types; arithmetic is always done in double.
struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};

// A bool as it is stored: C++ does not say what another byte than 0 and 1 is as its own bool.
struct Bool {
  std::uint8_t byte;
};

constexpr double to_double(double x) { return x; }
constexpr double to_double(float x) { return x; }
constexpr double to_double(Bool x) { return x.byte; }
// Exact if is_valid().
template <std::integral T>
constexpr double to_double(T x) {
  return static_cast<double>(x);
}
constexpr double to_double(BFloat x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
constexpr double to_double(Half x) {
  // binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. Moving exponent and fraction into place gives the value
  // times 2^-(1023 - 15), denormals included; the multiplication by a power of two is exact.
  const std::uint64_t magnitude = static_cast<std::uint64_t>(x.bits & 0x7fff) << 42;
  const std::uint64_t sign = static_cast<std::uint64_t>(x.bits >> 15) << 63;
  if ((x.bits & 0x7c00) == 0x7c00)  // infinity and NaN
    return std::bit_cast<double>(sign | 0x7ff0000000000000 | (magnitude & 0x000fffffffffffff));
  return std::bit_cast<double>(sign | std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) * 0x1p1008));
}

// All integers up to this magnitude are exact in fp64.
inline constexpr std::int64_t kLargestInteger = std::int64_t{1} << 53;

// Whether rows may have the value: every one but NaN, infinity, integers that fp64 may not hold, and bools that are
// neither 0 nor 1. On devices as well.
template <class T>
constexpr bool is_valid(T x) {
  if constexpr (std::is_same_v<T, Bool>)
    return x.byte <= 1;
  else if constexpr (std::is_integral_v<T>)
    return std::cmp_less_equal(x, kLargestInteger) && std::cmp_greater_equal(x, -kLargestInteger);
  else if constexpr (std::is_floating_point_v<T>)
    return x - x == 0;
  else
    return to_double(x) - to_double(x) == 0;
}
// Whether that goes for all values of the type.
template <class T>
inline constexpr bool kAlwaysValid = std::is_integral_v<T> && sizeof(T) < sizeof(double);

// Whether single precision holds all values of the type.
constexpr bool fits_single(std::int32_t code) { return code == KNNG_F32 || dtype_bytes(code) <= 2; }

// Exponent and fraction fields, joined, of |x| in a format with so many fraction bits, whose normal numbers begin with
// that exponent and end before `infinity`. Integers alone: the same on devices.
constexpr std::uint32_t round_magnitude(double x, int fraction_bits, int smallest_exponent, std::uint32_t infinity) {
  constexpr std::uint64_t kOne = 1, kHidden = kOne << 52, kInfinity = std::uint64_t{0x7ff} << 52;
  const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(x) & (kInfinity | (kHidden - 1));
  if (magnitude >= kInfinity) return infinity | (magnitude > kInfinity ? 1u << (fraction_bits - 1) : 0u);
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent < smallest_exponent - fraction_bits - 1) return 0;  // below half of the smallest number
  const int below = exponent < smallest_exponent ? smallest_exponent - exponent : 0;
  // A multiple of the spacing at this exponent, and what is beyond it.
  const int dropped = 52 - fraction_bits + below;
  const std::uint64_t digits = kHidden | (magnitude & (kHidden - 1)), rest = digits & ((kOne << dropped) - 1),
                      half = kOne << (dropped - 1);
  std::uint64_t steps = digits >> dropped;
  steps += rest > half || (rest == half && (steps & 1) != 0);
  const auto field = static_cast<std::uint32_t>(exponent + below - smallest_exponent);
  const std::uint32_t bits = (field << fraction_bits) + static_cast<std::uint32_t>(steps);
  return bits < infinity ? bits : infinity;
}

// Round to nearest, ties to even, straight from double; what is too large becomes infinity.
constexpr Half half_from_double(double x) {
  const std::uint64_t sign = std::bit_cast<std::uint64_t>(x) >> 63 << 15;
  return {static_cast<std::uint16_t>(sign | round_magnitude(x, 10, -14, 0x7c00))};
}
constexpr BFloat bfloat_from_double(double x) {
  const std::uint64_t sign = std::bit_cast<std::uint64_t>(x) >> 63 << 15;
  return {static_cast<std::uint16_t>(sign | round_magnitude(x, 7, -126, 0x7f80))};
}

struct Dtype {
  std::int32_t code;
  std::int32_t bytes;
  const char* name;
};

// nullptr for a code that no element type has.
const Dtype* find_dtype(std::int32_t code) noexcept;
// Bytes of an element; throws KNNG_ERR_ARGUMENT for a code that no element type has.
std::int32_t checked_dtype_bytes(std::int32_t code, const char* argument);
const char* dtype_name(std::int32_t code) noexcept;

// Calls f with a null pointer of the storage type: visit_row_dtype(code, [&](auto* tag) { using T = ... }).
template <class F>
decltype(auto) visit_row_dtype(std::int32_t code, F&& f) {
  switch (code) {
    case KNNG_F32: return f(static_cast<const float*>(nullptr));
    case KNNG_F64: return f(static_cast<const double*>(nullptr));
    case KNNG_F16: return f(static_cast<const Half*>(nullptr));
    case KNNG_BF16: return f(static_cast<const BFloat*>(nullptr));
    case KNNG_U8: return f(static_cast<const std::uint8_t*>(nullptr));
    case KNNG_I8: return f(static_cast<const std::int8_t*>(nullptr));
    case KNNG_U16: return f(static_cast<const std::uint16_t*>(nullptr));
    case KNNG_I16: return f(static_cast<const std::int16_t*>(nullptr));
    case KNNG_U32: return f(static_cast<const std::uint32_t*>(nullptr));
    case KNNG_I32: return f(static_cast<const std::int32_t*>(nullptr));
    case KNNG_U64: return f(static_cast<const std::uint64_t*>(nullptr));
    case KNNG_I64: return f(static_cast<const std::int64_t*>(nullptr));
    case KNNG_BOOL: return f(static_cast<const Bool*>(nullptr));
    default: fail(KNNG_ERR_INTERNAL, "dtype", {.given = code}, "dtype %d is no row type", code);
  }
}

// For who copies elements and does not read them: calls f with a null pointer of the unsigned integer of that width.
template <class F>
decltype(auto) visit_width(std::int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(static_cast<std::uint8_t*>(nullptr));
    case 2: return f(static_cast<std::uint16_t*>(nullptr));
    case 4: return f(static_cast<std::uint32_t*>(nullptr));
    default: return f(static_cast<std::uint64_t*>(nullptr));
  }
}

}  // namespace libknng
