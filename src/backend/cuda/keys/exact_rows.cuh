// The last rung of the ladder: rows that no filter could prove, answered by all of their canonical keys. Knows nothing
// of why a row came here.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/result/result.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "core/admission.h"
#include "metric/metric.h"

namespace libknng::cuda {

struct ExactJob {
  CanonicalView rows, columns;
  Metric metric;
  std::int64_t k = 0;
  const std::int64_t* list = nullptr;  // rows to answer, in device memory
  bool rows_picked = false;            // `rows` has the rows of the list alone, in its order
  // Where `columns` has no points: gives columns_at_a_time of them from a multiple of that on, row 0 of the view being
  // column `first`, for what is put on the stream until it is called again.
  std::function<CanonicalView(std::int64_t first)> columns_from;
  DirectParts parts;  // of keys
  std::int64_t count = 0;
  Admission admission;
  ResultRows result;  // rows outside the list stay as they are; those in it become proved
  // Any numbers from 1 will do. Rows: a multiple of 64 that is not below the number of multiprocessors keeps the device
  // busy; each costs 8 bytes a column. Columns: if they are all, they are laid out once instead of for every batch.
  std::int64_t rows_at_a_time = 0, columns_at_a_time = 0;
  void* workspace = nullptr;  // of exact_workspace_bytes(), 256-byte aligned
};

std::int64_t exact_workspace_bytes(const ExactJob& job);

// Asynchronous; several launches for every rows_at_a_time rows.
void exact_rows(const ExactJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
