// Refinement: the canonical keys of a filter's candidates, the check of the filter's bounds, the proof, the result
// (DESIGN: refine and prove). Knows nothing of how candidates were found.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>

#include "backend/cuda/result/result.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "backend/cuda/select/candidate.cuh"
#include "core/admission.h"
#include "metric/metric.h"
#include "refine/sum_bound.h"

namespace libknng::cuda {

// What a filter kept of rows [first, first + count): arrays by place in that range, in device memory. Or, if
// RefineJob::places says which list is whose, arrays by list.
struct FilterLists {
  const Candidate* candidates = nullptr;  // `capacity` a row; ids of a row are distinct
  const std::int32_t* kept = nullptr;     // candidates of a row; more than `capacity`: some were lost
  std::int64_t capacity = 0;
  const float* dropped = nullptr;  // smallest `low` that was left out, +inf if none; null: no proof is wanted
  // What the k-th smallest key is at most, unless the row is not proved: no candidate with a low above it is a
  // neighbour. Null: all may be.
  const float* cutoffs = nullptr;
};

// low <= key x scale <= low + 2 (rows[i] + columns[j]), scale that of LowBound (refine/low_bound.h).
// Null pointers: low <= key <= sums.up(low); without that the lists come from tiles of canonical keys or of exact
// products, whose `low` is the key x scale rounded down.
// exact_integers: keys x scale are integers, the scale is a power of two, and lows which fp32 holds exactly are taken
// as keys in 15 of 16 rows.
struct FilterBounds {
  double scale = 1;
  const float* rows = nullptr;     // as FilterLists
  const float* columns = nullptr;  // by column
  std::optional<SumBound> sums = {};
  bool exact_integers = false;
};

struct ProductTable;

struct RefineJob {
  CanonicalView rows, columns;
  Metric metric;
  std::int64_t k = 0;
  std::int64_t first = 0, count = 0;
  Admission admission;
  FilterLists lists;
  FilterBounds bounds;
  // Which column each candidate's id stands for, and each entry of bounds.columns; null: the one of that number.
  const std::int64_t* order = nullptr;
  const std::uint32_t* places = nullptr;  // by row, of all rows: its list
  // Keys that are known (listed_keys.cuh): by place in the lists, and of rows with themselves where these are wanted.
  // Then no point is read: views need not have any.
  bool keys_known = false;
  const double *keys = nullptr, *self_keys = nullptr;
  // Or keys are found from products, which are the same for all it is asked (product_keys.cuh); null: they are
  // evaluated.
  const ProductTable* table = nullptr;
  // The first columns without direction, ascending: k + 1 and as many as a row may be refused (all, if there are
  // fewer); null: there are none. Candidates without direction are ignored: these ids stand for them.
  const std::uint32_t* directionless = nullptr;
  std::int64_t directionless_count = 0;
  ResultRows result;
  // Rows of a launch, from 1: enough to fill the device, some thousands.
  std::int64_t rows_at_a_time = 0;
  void* workspace = nullptr;  // of refine_workspace_bytes(), 256-byte aligned
};

std::int64_t refine_workspace_bytes(const RefineJob& job);

// Asynchronous; a few launches for every rows_at_a_time rows.
void refine(const RefineJob& job, cudaStream_t stream);

}  // namespace libknng::cuda
