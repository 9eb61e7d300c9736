// Columns that may belong to a row: all but those that a lower bound puts behind the list that the row has already.
// Where many columns are equally far from a row no list has room for them all, and no precision tells them apart; yet
// each tells them from what is farther. Knows nothing of how bounds were found.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "core/admission.h"
#include "metric/metric.h"

namespace libknng::cuda {

// Lows of some rows with all columns, as SelectJob has them: a product in the tile, and a term of either side. Terms
// are by place in the order in which points are compared.
struct RowLows {
  const float* tile = nullptr;
  std::int64_t ld = 0;
  const float *row_terms = nullptr, *column_terms = nullptr;
  bool integers = false;
  double scale = 1;                       // from key to low
  const std::uint32_t* places = nullptr;  // of rows; null: their numbers
  const std::int64_t* order = nullptr;    // the column in each place; null: its number
};

// All pointers are to device memory.
struct ContendersJob {
  CanonicalView rows, columns;
  Metric metric;
  Admission admission;
  const std::int64_t* list = nullptr;  // the rows
  std::int64_t count = 0, k = 0;
  // Ids of each row's list: k, behind the row itself if `width` is k + 1. One that is not complete, ascending and
  // admitted says nothing: then all columns are contenders.
  const std::int64_t* listed = nullptr;
  std::int64_t width = 0;
  DirectParts parts;  // of keys

  double* u = nullptr;       // of the rows: count x dim
  double* limits = nullptr;  // by row: the list's last key
  // Of each row's contenders, room for all columns: ids in no order, and keys.
  std::uint32_t* ids = nullptr;
  double* keys = nullptr;
  std::int32_t* counts = nullptr;
  double* self_keys = nullptr;  // by row: its product with itself; null: not wanted
};

// In this order: `limits`; then, when lows are there, which may lie where keys will be, `ids` and `counts`; then
// `keys`. Asynchronous.
void find_limits(const ContendersJob& job, cudaStream_t stream);
void find_contenders(const ContendersJob& job, const RowLows& lows, cudaStream_t stream);
void keys_of_contenders(const ContendersJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
