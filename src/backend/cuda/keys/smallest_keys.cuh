// The k + 1 smallest of rows' keys, in the order of (key, id), and some more in no order: what store_result() sorts.
// Knows nothing of where keys come from.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "backend/cuda/result/result.cuh"
#include "core/admission.h"

namespace libknng::cuda {

// All pointers are to device memory.
struct SmallestJob {
  const double* keys = nullptr;  // count x columns
  // Of each key its column, in no order, where rows have keys of some columns only, all of them admitted; null: key j
  // is of column j.
  const std::uint32_t* ids = nullptr;
  const std::int32_t* counts = nullptr;  // by row: how many it has; more than `columns`: none are looked at; null: all
  const std::int64_t* list = nullptr;    // the rows, for the rule of each
  Admission admission;
  std::int64_t count = 0, k = 0, columns = 0;
  RowEntries entries;                       // a row has places for k + 1 or more, or for all
  unsigned long long* evaluated = nullptr;  // counts keys
};

// Selection ends once a digit leaves no more than so many beyond k + 1.
constexpr std::int64_t places_for(std::int64_t k, std::int64_t columns) { return std::min(k + 1 + 1024, columns); }

// Asynchronous.
void smallest_keys(const SmallestJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
