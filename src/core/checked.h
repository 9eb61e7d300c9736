// Arithmetic on sizes that refuses to overflow: data sets whose byte counts leave int64_t get an error, not a wrap.
#pragma once

#include <cstdint>

#include "core/error.h"

namespace libknng {

inline std::int64_t checked_add(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r))
    fail(KNNG_ERR_RANGE, what, {.given = a}, "%s: %lld + %lld does not fit 63 bits", what, static_cast<long long>(a),
         static_cast<long long>(b));
  return r;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r))
    fail(KNNG_ERR_RANGE, what, {.given = a}, "%s: %lld x %lld does not fit 63 bits", what, static_cast<long long>(a),
         static_cast<long long>(b));
  return r;
}

}  // namespace libknng
