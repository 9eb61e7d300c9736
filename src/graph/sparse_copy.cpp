#include "graph/sparse_copy.h"

#include "core/dtype.h"
#include "core/error.h"
#include "graph/narrow.h"

namespace libknng {

using ll = long long;

void require_numbers(const MutableMatrixView& to, std::int64_t count, bool values, const char* argument) {
  const bool fits =
      values ? to.dtype == KNNG_F64 || to.dtype == KNNG_F32 : to.dtype == KNNG_I64 || to.dtype == KNNG_I32;
  if (!fits)
    fail(KNNG_ERR_ARGUMENT, argument, {.given = to.dtype}, "%s: dtype 0x%03x (%s) is no type for it: %s are", argument,
         static_cast<unsigned>(to.dtype), dtype_name(to.dtype), values ? "float64 and float32" : "int64 and int32");
  if (to.rows != count || to.cols != 1)
    fail(KNNG_ERR_ARGUMENT, argument, {.given = to.rows, .limit = count}, "%s: %lld x %lld, but %lld x 1 is needed",
         argument, static_cast<ll>(to.rows), static_cast<ll>(to.cols), static_cast<ll>(count));
}

void copy_numbers(const Buffer<std::int64_t>& numbers, std::int32_t base, const MutableMatrixView& to,
                  const char* argument) {
  visit_id_dtype(to.dtype, [&]<class T>(T*) {
    T* const out = reinterpret_cast<T*>(to.data);
    for (std::int64_t i = 0; i < numbers.size(); ++i)
      if (!narrow_id(numbers[i] + base, out[i * to.row_stride]))
        fail(KNNG_ERR_RANGE, argument,
             {.row = i, .given = numbers[i] + base, .limit = std::int64_t{std::numeric_limits<T>::max()}},
             "%s: %lld is too large for %s", argument, static_cast<ll>(numbers[i] + base), dtype_name(to.dtype));
  });
}

void copy_values(const Sparse& s, const MutableMatrixView& to) {
  const auto value = [&](std::int64_t i) {
    return s.value_dtype == KNNG_F32 ? double{reinterpret_cast<const float*>(s.values.data())[i]}
                                     : reinterpret_cast<const double*>(s.values.data())[i];
  };
  visit_value_dtype(to.dtype, [&]<class T>(T*) {
    T* const out = reinterpret_cast<T*>(to.data);
    for (std::int64_t i = 0; i < s.entries(); ++i)
      if (!narrow_value(value(i), out[i * to.row_stride]))
        fail(KNNG_ERR_RANGE, "value", {.row = i}, "value: %.17g is too large for %s", value(i), dtype_name(to.dtype));
  });
}

}  // namespace libknng
