// The nearest columns of rows in few dimensions, found by their canonical keys and nothing else: groups of columns are
// left out only where no key between their box and the rows' can belong to a list. Knows nothing of what is stored of
// the lists.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/result/result.cuh"
#include "backend/cuda/tree/boxes.cuh"
#include "backend/cuda/tree/hilbert_order.cuh"
#include "core/admission.h"
#include "metric/canonical.h"
#include "metric/metric.h"

namespace libknng::cuda {

// What passes between a search in flight and its host, in device memory.
struct SearchState {
  unsigned long long evaluated = 0;  // counted up: canonical keys
  int cancelled = 0;                 // set by the host: the search ends soon, and what it has found means nothing
};

struct SearchJob {
  BoxTree columns;
  std::int64_t column_count = 0;            // with those that are not in the tree
  const double* u = nullptr;                // canonical rows, count x dim
  SortedCodes order;                        // of the rows: neighbours in it are near each other
  std::int64_t first = 0, count = 0;        // rows of the problem
  Admission admission;                      // by row of the problem
  const RowConstants* constants = nullptr;  // by row of the problem, for metrics with directions; else null
  // The first slots + 1 columns without direction, ascending (all, if there are fewer).
  const std::uint32_t* directionless = nullptr;
  std::int64_t directionless_count = 0;
  // By place: the `slots` nearest columns that a row may get, or all if there are fewer.
  RowEntries entries;
  SearchState* state = nullptr;
};

// Asynchronous.
void search_nearest(const SearchJob& job, const Metric& metric, cudaStream_t stream);

}  // namespace libknng::cuda
