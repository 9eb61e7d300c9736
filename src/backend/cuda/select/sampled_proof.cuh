// Whether lists will prove their rows, estimated from the lists of a few: before all tiles are evaluated in a precision
// that cannot tell neighbours from their rivals. Nothing that is returned depends on it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/select/merge.cuh"

namespace libknng::cuda {

// Rows whose lists are looked at: groups of neighbours, evenly spread over all.
struct SampledRows {
  static constexpr int kGroups = 2, kMostTogether = 64;
  std::int64_t step = 0;  // from one group to the next
  int together = 0;       // rows of a group

  explicit SampledRows(std::int64_t rows);
  __host__ __device__ std::int64_t first(int group) const { return group * step; }
  int count() const { return kGroups * together; }
};

// What is counted of them. Where a row's k-th smallest key is, bounds tell: in the middle, if errors cancel.
struct SampledCounts {
  int unproved;  // rows that have lost a pair that may be among the k nearest, to longer lists or to guessed cut-offs
  int near;      // candidates that may be
  int beyond;    // rows that have more of those than short lists keep
};

// Lists and bounds are those of all rows; counts are added to.
void count_sampled(const SampledRows& rows, const CandidateLists& lists, const Bounds& bounds,
                   std::int64_t short_capacity, SampledCounts* counts, cudaStream_t stream);

}  // namespace libknng::cuda
