#include "exec/work_types.h"

#include <algorithm>

namespace libknng {
namespace {

// Fewer points are as fast as they are stored, or faster. Two threads, AVX-512, ms as float32 / as bytes, k = 10: 1,000
// x 32 1.0 / 1.1, 1,000 x 512 4.2 / 6.9; 3,000 x 32 11 / 9.6, x 128 20 / 12, x 512 47 / 25.
constexpr std::int64_t kMostAsStored = 2048;

}  // namespace

std::int32_t work_dtype_for(std::int64_t points, ByteTypes types) noexcept {
  return points <= kMostAsStored ? 0 : byte_dtype(types);
}

void choose_work_types(Dataset& data, Dataset* queries) noexcept {
  const Dataset& points = queries ? *queries : data;
  if (data.dtype() == points.dtype() && dtype_bytes(data.dtype()) == 1) return;
  const ByteTypes types = data.byte_types() & points.byte_types();
  const std::int32_t dtype = work_dtype_for(std::max(data.rows(), points.rows()), types);
  if (dtype == 0) return;
  data.work_as(dtype);
  if (queries) queries->work_as(dtype);
}

}  // namespace libknng
