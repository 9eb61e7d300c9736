// A batch of rows that are refined, as kernels see it, and what their keys are compared with.
#pragma once

#include <cstdint>

#include "backend/cuda/keys/pair_keys.cuh"
#include "backend/cuda/keys/refine.cuh"
#include "metric/ops.h"

namespace libknng::cuda {

// Pointers by place in the batch.
struct RefinedBatch {
  const double* u;                 // canonical rows, count x dim
  const double *keys, *self_keys;  // where they are known: by place in the lists, by place
  PairTerms terms;
  std::int64_t first, count;
  std::int64_t k, columns;
  Admission admission;
  const RowConstants* row_constants;  // by row
  FilterLists lists;
  FilterBounds bounds;
  const std::int64_t* order;    // columns that candidates stand for
  const std::uint32_t* places;  // lists of the batch; null: in its order
  const std::uint32_t* directionless;
  std::int64_t directionless_count;
  RowEntries entries;
  std::uint8_t* open;  // of keys from products: whether some of the row's are left open
  ResultFindings* findings;

  // By a thread for each list. Few are the longest so far: a look spares others an atomic operation at one address.
  __device__ void note_length(std::int64_t list) const {
    const auto kept = static_cast<unsigned long long>(lists.kept[list]);
    if (kept > findings->candidates) atomicMax(&findings->candidates, kept);
  }
};

// Whether the filter's bounds hold a key.
__device__ inline bool within_bounds(const RefinedBatch& b, std::int64_t list, Candidate c, double key) {
  if (b.bounds.sums) return static_cast<double>(c.low) <= key && key <= static_cast<double>(b.bounds.sums->up(c.low));
  const double scaled = ScalarOps::mul(key, b.bounds.scale);
  if (!b.bounds.columns) return c.low == __double2float_rd(scaled);
  const float sum = __fadd_ru(b.bounds.rows[list], b.bounds.columns[c.id]);
  const float up = __fadd_ru(c.low, __fmul_ru(2.0f, sum));
  return static_cast<double>(c.low) <= scaled && !(scaled > static_cast<double>(up));  // -inf + inf claims nothing
}

}  // namespace libknng::cuda
