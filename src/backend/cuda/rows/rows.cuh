// Rows in device memory, as kernels and those who start them name them: stored values, and what their metric makes of
// them. How kernels read them is row_source.cuh.
#pragma once

#include <cstdint>

#include "metric/canonical.h"

namespace libknng::cuda {

// Strides in elements. data is device memory.
struct DeviceRows {
  const void* data = nullptr;
  std::int32_t dtype = 0;  // a KNNG_* number
  std::int64_t rows = 0, dim = 0;
  std::int64_t row_stride = 0, col_stride = 0;
};

struct CanonicalView {
  DeviceRows rows;
  Transform transform = Transform::identity;
  const RowConstants* constants = nullptr;    // one a row, for transforms that have some (has_constants)
  const std::int16_t* short_ranks = nullptr;  // rank_unit: rows x dim, in the smaller type that holds them
  const std::int32_t* long_ranks = nullptr;
};

constexpr bool has_constants(Transform t) { return has_directions(t) || t == Transform::share; }

}  // namespace libknng::cuda
