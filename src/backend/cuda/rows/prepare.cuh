// What a metric needs to know of each row besides the row, found on the device with the bits of prepare/
// canonical_rows.cpp: constants, ranks, and the first value that the metric refuses. Knows nothing of pairs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

// Where the first value is that is not valid (core/dtype.h), and the first that the metric refuses, in device memory:
// row x (dim + 1) + column, column = dim standing for the sum of a row; kNothing if there is none. The caller fills it
// with PrepareFindings() before and words the error after.
struct PrepareFindings {
  static constexpr unsigned long long kNothing = ~0ull;
  unsigned long long first_invalid = kNothing;
  unsigned long long first_refused = kNothing;  // negative, too large, or a sum of 0; meaningless where invalid
  int any_directionless = 0;
};

// Rows [first, first + count) of `view.rows`; all arrays are indexed by row, findings count rows from 0 as well.
// Writes view.short_ranks or view.long_ranks (whichever is not null; for rank_unit) and view.constants (for transforms
// that have some) through the pointers below. `limit` is largest_magnitude(). Asynchronous.
struct PrepareJob {
  DeviceRows rows;
  Transform transform = Transform::identity;
  double limit = 0;
  std::int64_t first = 0, count = 0;
  RowConstants* constants = nullptr;
  std::int16_t* short_ranks = nullptr;
  std::int32_t* long_ranks = nullptr;
  PrepareFindings* findings = nullptr;
  void* workspace = nullptr;  // of prepare_workspace_bytes()
  bool valid = false;         // all values are known to be: they are not looked at if none can be refused
};

// 0 but for ranks of rows that shared memory does not hold.
std::int64_t prepare_workspace_bytes(const DeviceRows& rows, Transform transform);
void prepare_rows(const PrepareJob& job, cudaStream_t stream);

// has_no_direction() of metric/canonical.h of `count` rows whose numbers are listed; list, out: device memory.
// Asynchronous.
void find_directionless(const DeviceRows& rows, Transform transform, const std::int64_t* list, std::int64_t count,
                        std::uint8_t* out, cudaStream_t stream);

// u of rows [first, first + count) in fp64, or of rows list[i], i < count, if `list` (device memory) is not null: out[i
// dim
// + t]. Asynchronous.
void load_canonical(const CanonicalView& view, const std::int64_t* list, std::int64_t first, std::int64_t count,
                    double* out, cudaStream_t stream);

}  // namespace libknng::cuda
