// Integers of any width that the library writes into the caller's memory. Knows nothing of what they count.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "core/matrix_view.h"

namespace libknng {

// Calls f with a null pointer of the storage type, as visit_row_dtype() does; throws KNNG_ERR_ARGUMENT for others.
template <class F>
decltype(auto) visit_integer_dtype(std::int32_t code, const char* argument, F&& f) {
  switch (code) {
    case KNNG_I64: return f(static_cast<std::int64_t*>(nullptr));
    case KNNG_I32: return f(static_cast<std::int32_t*>(nullptr));
    case KNNG_I16: return f(static_cast<std::int16_t*>(nullptr));
    case KNNG_I8: return f(static_cast<std::int8_t*>(nullptr));
    case KNNG_U64: return f(static_cast<std::uint64_t*>(nullptr));
    case KNNG_U32: return f(static_cast<std::uint32_t*>(nullptr));
    case KNNG_U16: return f(static_cast<std::uint16_t*>(nullptr));
    case KNNG_U8: return f(static_cast<std::uint8_t*>(nullptr));
    default:
      fail(KNNG_ERR_ARGUMENT, argument, {.given = code},
           "%s: dtype 0x%03x (%s) is no integer type: those of 8 to 64 bits are, with sign and without", argument,
           static_cast<unsigned>(code), dtype_name(code));
  }
}

// The limit of T that `number` breaks.
template <class T>
constexpr std::int64_t broken_limit(std::int64_t number) noexcept {
  using Limits = std::numeric_limits<T>;
  if (number < 0) return static_cast<std::int64_t>(Limits::min());
  return std::in_range<std::int64_t>(Limits::max()) ? static_cast<std::int64_t>(Limits::max()) : INT64_MAX;
}

}  // namespace libknng
