// Which types of 8 bits hold a value: rows of whole numbers up to 255 are often stored as floats, and are worked with
// as bytes. The same on devices. Knows nothing of rows.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace libknng {

// KNNG_U8 and KNNG_I8, as bits.
enum ByteTypes : std::uint32_t { kNoByteType = 0, kUnsignedByte = 1, kSignedByte = 2, kEitherByte = 3 };

constexpr ByteTypes operator&(ByteTypes a, ByteTypes b) noexcept {
  return static_cast<ByteTypes>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}

// Of a value that is_valid(). -0 counts as 0, as it does wherever rows are compared.
template <class T>
constexpr ByteTypes byte_types_of(T stored) noexcept {
  const double x = to_double(stored);
  if (!(x >= -128 && x <= 255) || static_cast<double>(static_cast<int>(x)) != x) return kNoByteType;
  return x < 0 ? kSignedByte : x > 127 ? kUnsignedByte : kEitherByte;
}

// Of all values of a type: what is known without looking.
constexpr ByteTypes byte_types_of_dtype(std::int32_t dtype) noexcept {
  switch (dtype) {
    case KNNG_U8: return kUnsignedByte;
    case KNNG_I8: return kSignedByte;
    case KNNG_BOOL: return kEitherByte;
    default: return kNoByteType;
  }
}

// The type to take of several: signed bytes serve inner products as well (plan/integer_products.h). 0: there is none.
constexpr std::int32_t byte_dtype(ByteTypes types) noexcept {
  return (types & kSignedByte) != 0 ? KNNG_I8 : (types & kUnsignedByte) != 0 ? KNNG_U8 : 0;
}

// A value that such a type holds, as it stores it.
template <class T>
constexpr std::uint8_t to_byte(T stored) noexcept {
  return static_cast<std::uint8_t>(static_cast<int>(to_double(stored)));
}

}  // namespace libknng
