// How devices multiply rows of 8-bit integers, or of bools, as such. A pure function of the problem: what a session
// takes is known before there is one. Knows nothing of how products are made.
#pragma once

#include <cstdint>
#include <limits>

#include "knng/types.h"
#include "metric/metric.h"

namespace libknng {

// Keys of differences up to 255 fit 32 bits, and so does what they are made of.
inline constexpr std::int64_t kIntegerProductsTo = std::numeric_limits<std::int32_t>::max() / (255 * 255);

// Whether they can be. dtypes: of both sides.
inline bool has_integer_products(const Metric& metric, std::int32_t dtype, std::int32_t other_dtype,
                                 std::int64_t dim) noexcept {
  if (dtype != other_dtype || metric.transform != Transform::identity) return false;
  if (dim > kIntegerProductsTo) return false;
  const bool is_signed = dtype == KNNG_I8 || dtype == KNNG_BOOL;  // or small enough to be taken as such
  if (metric.term == Term::squared_difference) return is_signed || dtype == KNNG_U8;
  return metric.term == Term::product && is_signed;  // survives no shift
}

// What takes values to those of signed bytes when it is subtracted.
constexpr int integer_centre(std::int32_t dtype) noexcept { return dtype == KNNG_U8 ? 128 : 0; }

}  // namespace libknng
