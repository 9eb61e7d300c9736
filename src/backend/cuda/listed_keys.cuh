// Canonical keys of those candidates of a row that lie in one block of columns: refinement where columns come block by
// block. Knows nothing of how they come.
#pragma once

#include <cstdint>

#include "backend/cuda/candidate.cuh"
#include "backend/cuda/rows.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

struct ListedKeysJob {
  const double* u = nullptr;  // canonical rows, count x dim
  std::int64_t count = 0;
  CanonicalView columns;  // of the block
  std::int64_t first_column = 0;
  Metric metric;
  // By row of u; `capacity` a list, of which `kept` are candidates.
  const Candidate* candidates = nullptr;
  const std::int32_t* kept = nullptr;
  std::int64_t capacity = 0;
  double* keys = nullptr;       // by place in the lists: those in the block are written
  double* self_keys = nullptr;  // by row of u: the product of the row with itself; null: not wanted
};

void listed_keys(const ListedKeysJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
