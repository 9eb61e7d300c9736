// Rows that no list could prove, answered by the canonical keys of the columns that may belong to them: of all but
// those that a lower bound puts behind the list that a row has. Where many columns are equally far from a row no list
// has room for them all, and no precision tells them apart; yet each tells them from what is farther. Knows nothing of
// how bounds were found, nor of why a row came here.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/result/result.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "core/admission.h"
#include "metric/metric.h"

namespace libknng::cuda {

// Lows of rows with consecutive columns, as SelectJob has them: a product in the tile, and a term of either side. Terms
// are by place in the order in which points are compared.
struct RowLows {
  const float *row_terms = nullptr, *column_terms = nullptr;  // those of columns from the first on
  bool integers = false;
  const std::int64_t* order = nullptr;  // the column in each place from the first on; null: its number
};

// Lows of any rows. What it does is put on the stream. Pointers are to device memory.
class RowFilter {
 public:
  virtual ~RowFilter() = default;
  // Operands of rows list[i], i < count, one behind the other.
  virtual void gather_rows(const std::int64_t* list, std::int64_t count, std::byte* operands) = 0;
  // Of those with columns [first, first + columns), by place: `ld`, a multiple of 4, elements of the tile a row.
  // `first` is a multiple of 4.
  virtual RowLows lows(const std::byte* operands, std::int64_t count, std::int64_t first, std::int64_t columns,
                       float* tile, std::int64_t ld) = 0;
};

struct ContendingRowsJob {
  CanonicalView rows, columns;
  Metric metric;  // of those that have products
  Admission admission;
  std::int64_t k = 0;
  const std::int64_t* list = nullptr;  // rows to answer, in device memory
  std::int64_t count = 0;
  // Of each of them the ids of its list, ResultRows::width of them, in device memory. One that is not complete,
  // ascending and admitted says nothing: then columns are drawn.
  const std::int64_t* listed = nullptr;
  const std::uint32_t* places = nullptr;  // of rows; null: their numbers
  RowFilter* filter = nullptr;
  double scale = 1;                // from key to low
  std::int64_t operand_bytes = 0;  // of a row
  DirectParts parts;               // of keys
  ResultRows result;               // rows with more contenders than `capacity` become unproved, others proved
  // At least 1; columns at a time a multiple of 4, capacity at least places_for(k, all).
  std::int64_t rows_at_a_time = 0, columns_at_a_time = 0, capacity = 0;
  void* workspace = nullptr;  // of contending_workspace_bytes(), 256-byte aligned
};

std::int64_t contending_workspace_bytes(const ContendingRowsJob& job);

// Adds the number of rows with more than `room` lows up to their cut-offs, which are by place, to *crowded. Lists are
// not looked at. Asynchronous.
void count_crowded(const ContendingRowsJob& job, const float* cutoffs, std::int64_t room, int* crowded,
                   cudaStream_t stream);

// Asynchronous; several launches for every rows_at_a_time rows.
void contending_rows(const ContendingRowsJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
