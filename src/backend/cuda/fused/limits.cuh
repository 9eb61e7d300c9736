// What lists accept while a launch of the fused engine goes on, and what happens to those that find more than they have
// room for. Knows nothing of products.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/select/merge.cuh"

namespace libknng::cuda::fused {

// Of a job's rows, and of its columns if it serves both.
struct ListsOfSide {
  CandidateLists lists;  // from the first row, or column, of the job
  Bounds bounds;
};

// Limits from the job's cut-offs, in an order of places if the job has one, which it writes; nothing is found yet.
template <class Number>
void start_limits(const FusedJob<Number>& job, cudaStream_t stream);

// Before a pass but the first: a list that found more in the pass before than it has room for has some of its pairs and
// not others. The k-th of those that it has bounds its k-th key from above (or is taken to: Bounds::widths, a lower k):
// its cut-off falls to that, what it found is forgotten, and the pass shows it all pairs again; other lists take
// nothing more. Without such lists it does nothing.
template <class Number>
void renew_limits(const FusedJob<Number>& job, const ListsOfSide& rows, const ListsOfSide& columns,
                  cudaStream_t stream);

}  // namespace libknng::cuda::fused
