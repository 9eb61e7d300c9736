// Rows in few dimensions answered straight away: their canonical rows in Hilbert order, the nearest columns of each,
// the result. Every row is proved, since nothing but canonical keys was compared. Knows nothing of how the tree was
// made.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

#include "backend/cuda/result/result.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "backend/cuda/tree/boxes.cuh"
#include "backend/cuda/tree/hilbert.cuh"
#include "backend/cuda/tree/search.cuh"
#include "core/admission.h"
#include "metric/metric.h"

namespace libknng::cuda {

struct SearchRowsJob {
  CanonicalView rows;
  std::int64_t columns = 0;  // of the problem
  HilbertGrid grid;
  BoxTree tree;  // of the columns that have a direction
  Metric metric;
  std::int64_t k = 0;
  std::int64_t first = 0, count = 0;
  Admission admission;
  // The first columns without direction, ascending: k + 1 and as many as a row may be refused (all, if there are
  // fewer); null: there are none.
  const std::uint32_t* directionless = nullptr;
  std::int64_t directionless_count = 0;
  ResultRows result;
  // Called when the search is in flight and nothing else: a kernel's first launch may wait for those before it. May
  // throw.
  std::function<void()> searching;
  std::int64_t most_rows = 0;  // that `workspace` is for
  void* workspace = nullptr;   // of search_rows_workspace_bytes(), 256-byte aligned
};

std::int64_t search_rows_workspace_bytes(const SearchRowsJob& job);

// Asynchronous; a few launches. The search may take long, unless `state` tells it to end.
void search_rows(const SearchRowsJob& job, SearchState* state, cudaStream_t stream);

}  // namespace libknng::cuda
