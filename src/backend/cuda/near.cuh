// The nearest columns of rows in few dimensions, found by their canonical keys and nothing else: groups of columns are
// left out only where no key between their box and the rows' can belong to a list. Knows nothing of what is stored of
// the lists.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/boxes.cuh"
#include "backend/cuda/result.cuh"
#include "metric/canonical.h"
#include "metric/metric.h"

namespace libknng::cuda {

struct NearJob {
  BoxTree columns;
  std::int64_t column_count = 0;  // with those that are not in the tree
  const double* u = nullptr;      // canonical rows, count x dim
  // Places of the rows in an order in which neighbours are near each other.
  const std::uint32_t* order = nullptr;
  std::int64_t first = 0, count = 0;        // rows of the problem
  bool square = false;                      // row i is column i
  const std::int64_t* leave_out = nullptr;  // by row of the problem: column that it must not get, or -1; null: none
  const RowConstants* constants = nullptr;  // by row of the problem, for metrics with directions; else null
  // The first slots + 1 columns without direction, ascending (all, if there are fewer).
  const std::uint32_t* directionless = nullptr;
  std::int64_t directionless_count = 0;
  // By place: the `slots` nearest columns that a row may get, or all if there are fewer.
  RowEntries entries;
  unsigned long long* evaluated = nullptr;  // counted up: canonical keys
};

// Asynchronous.
void find_near(const NearJob& job, const Metric& metric, cudaStream_t stream);

}  // namespace libknng::cuda
