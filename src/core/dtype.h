// The element types of rows: size, name, and exact conversion to double. Rounding conversions the other way.
// Knows nothing of matrices.
#pragma once

#include <bit>
#include <cstdint>

#include "core/error.h"

namespace libknng {

// Storage of the two half precision types; arithmetic is always done in double.
struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};

constexpr double to_double(double x) { return x; }
constexpr double to_double(float x) { return x; }
constexpr double to_double(std::uint8_t x) { return x; }
constexpr double to_double(std::int8_t x) { return x; }
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
  bool integer;
};

// nullptr for a code that no element type has (in rows or ids).
const Dtype* find_dtype(std::int32_t code) noexcept;
// Bytes of an element of a row; throws KNNG_ERR_ARGUMENT for a code that rows cannot have.
std::int32_t row_dtype_bytes(std::int32_t code, const char* argument);
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
    default: fail(KNNG_ERR_INTERNAL, "dtype", {.given = code}, "dtype %d is no row type", code);
  }
}

}  // namespace libknng
