#include "dataset/convert.h"

#include <cmath>
#include <concepts>
#include <limits>

#include "core/dtype.h"

namespace libknng {
namespace {

// Whether the type can hold x, and the value that it holds.
bool convert(double x, double& out) {
  out = x;
  return true;
}
bool convert(double x, float& out) {
  out = static_cast<float>(x);
  return std::isfinite(out);
}
bool convert(double x, Half& out) {
  out = half_from_double(x);
  return std::isfinite(to_double(out));
}
bool convert(double x, BFloat& out) {
  out = bfloat_from_double(x);
  return std::isfinite(to_double(out));
}
bool convert(double x, Bool& out) {
  out.byte = x != 0;
  return x == 0 || x == 1;
}
template <std::integral Integer>
bool convert(double x, Integer& out) {
  // Powers of two, or 0: fp64 has them, as it may not have the largest value.
  constexpr Integer kHalf = std::numeric_limits<Integer>::max() / 2 + 1;
  constexpr double kBeyond = 2 * static_cast<double>(kHalf);
  if (!(x >= static_cast<double>(std::numeric_limits<Integer>::min()) && x < kBeyond)) return false;
  out = static_cast<Integer>(x);
  return static_cast<double>(out) == x;
}

}  // namespace

void store_rows(const Dataset& data, std::int64_t first, const MutableMatrixView& to, std::int64_t number) {
  Buffer<double> row(data.dim());
  visit_row_dtype(to.dtype, [&](auto* tag) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(tag)>>;
    for (std::int64_t i = 0; i < to.rows; ++i) {
      data.load(first + i, row.data());
      T* out = reinterpret_cast<T*>(to.data) + i * to.row_stride;
      for (std::int64_t t = 0; t < to.cols; ++t)
        if (!convert(row[t], out[t * to.col_stride]))
          fail(KNNG_ERR_RANGE, "dst", {.row = number + i, .col = t}, "dst: %g is what %s cannot hold", row[t],
               dtype_name(to.dtype));
    }
  });
}

}  // namespace libknng
