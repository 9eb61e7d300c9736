// Canonical keys of those candidates of a row that lie in one block of columns: refinement where columns come block by
// block. Knows nothing of how they come.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"
#include "backend/cuda/select/candidate.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

struct ListedKeysJob {
  // Canonical rows, count x dim; or null: rows [first, first + count) of a view that is of the columns' type.
  const double* u = nullptr;
  CanonicalView rows;
  std::int64_t first = 0, count = 0;
  CanonicalView columns;  // of the block
  std::int64_t first_column = 0;
  Metric metric;
  // By row; `capacity` a list, of which `kept` are candidates.
  const Candidate* candidates = nullptr;
  const std::int32_t* kept = nullptr;
  std::int64_t capacity = 0;
  double* keys = nullptr;       // by place in the lists: those in the block are written
  double* self_keys = nullptr;  // by row: the product of the row with itself; null: not wanted
};

void listed_keys(const ListedKeysJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
