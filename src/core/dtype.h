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

// Round to nearest, ties to even, straight from double; what is too large becomes infinity.
Half half_from_double(double x) noexcept;
BFloat bfloat_from_double(double x) noexcept;

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
