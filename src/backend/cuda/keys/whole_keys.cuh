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

// Lists are in device memory.
struct WholeKeysJob {
  CanonicalView rows;
  const std::int64_t* list = nullptr;  // row list[i] of them has the keys [i ld + c]; null: row first_row + i
  std::int64_t first_row = 0, count = 0;
  CanonicalView columns;
  const std::int64_t* column_list = nullptr;  // of c from 0 on; null: column first_column + c
  std::int64_t first_column = 0, column_count = 0;
  Metric metric;
  double* keys = nullptr;  // null: lows, rounded down, as direct_tile() has them
  float* lows = nullptr;
  std::int64_t ld = 0;
  double* u = nullptr;  // working memory: count x dim
  DirectParts parts;
};

// Asynchronous.
void whole_keys(const WholeKeysJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
