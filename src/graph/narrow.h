// Ids and values of a graph as elements of the types that knng_graph_copy() writes: the same on the host and on
// devices. Knows nothing of where they go.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "core/dtype.h"
#include "knng/types.h"

namespace libknng {

constexpr bool is_id_dtype(std::int32_t dtype) {
  return dtype == KNNG_I16 || dtype == KNNG_U16 || dtype == KNNG_I32 || dtype == KNNG_I64;
}
constexpr bool is_value_dtype(std::int32_t dtype) {
  return dtype == KNNG_F64 || dtype == KNNG_F32 || dtype == KNNG_F16 || dtype == KNNG_BF16;
}

// Calls f with a null pointer of the storage type of one of them.
template <class F>
decltype(auto) visit_id_dtype(std::int32_t dtype, F&& f) {
  switch (dtype) {
    case KNNG_I16: return f(static_cast<std::int16_t*>(nullptr));
    case KNNG_U16: return f(static_cast<std::uint16_t*>(nullptr));
    case KNNG_I32: return f(static_cast<std::int32_t*>(nullptr));
    default: return f(static_cast<std::int64_t*>(nullptr));
  }
}
template <class F>
decltype(auto) visit_value_dtype(std::int32_t dtype, F&& f) {
  switch (dtype) {
    case KNNG_F64: return f(static_cast<double*>(nullptr));
    case KNNG_F32: return f(static_cast<float*>(nullptr));
    case KNNG_F16: return f(static_cast<Half*>(nullptr));
    default: return f(static_cast<BFloat*>(nullptr));
  }
}

constexpr bool is_infinite(double x) {
  return x == std::numeric_limits<double>::infinity() || x == -std::numeric_limits<double>::infinity();
}

// What an element becomes; false if the type cannot hold it.
template <class T>
constexpr bool narrow_id(std::int64_t id, T& out) {
  out = static_cast<T>(id);
  return std::in_range<T>(id);
}
constexpr bool narrow_value(double x, double& out) {
  out = x;
  return true;
}
constexpr bool narrow_value(double x, float& out) {
  out = static_cast<float>(x);
  return !is_infinite(to_double(out)) || is_infinite(x);
}
constexpr bool narrow_value(double x, Half& out) {
  out = half_from_double(x);
  return !is_infinite(to_double(out)) || is_infinite(x);
}
constexpr bool narrow_value(double x, BFloat& out) {
  out = bfloat_from_double(x);
  return !is_infinite(to_double(out)) || is_infinite(x);
}

}  // namespace libknng
