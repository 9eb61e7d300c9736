// Canonical keys of a few rows with all columns of a view, as they lie in memory: for few rows nothing has to be laid
// out for it, as direct_tile() wants. Knows nothing of lists.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

// Rows for which a value of a column is read once, at most.
inline constexpr std::int64_t kRowsOfWholeKeys = 4;

struct WholeKeysJob {
  CanonicalView rows;                  // row list[i] of them has the keys keys[i ld + c]
  const std::int64_t* list = nullptr;  // device memory
  std::int64_t count = 0;
  CanonicalView columns;  // columns [first, first + column_count) of them, c from 0 on
  std::int64_t first = 0, column_count = 0;
  Metric metric;
  double* keys = nullptr;
  std::int64_t ld = 0;
  double* u = nullptr;  // working memory: count x dim
  DirectParts parts;
};

// Asynchronous.
void whole_keys(const WholeKeysJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
