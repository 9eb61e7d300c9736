// The nearest rows of a row, from its nearest groups of equal rows: the first of all their members by (key, id). Memory
// is for the rows that are wanted, however large the groups are. Knows nothing of how groups were found or of results.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/result/result.cuh"

namespace libknng::cuda {

// In device memory. Others of a row's own group are at key 0 from it.
struct MembersJob {
  // By row its group; by group where its members begin, and all members one after the other, ascending in each.
  const std::uint32_t *group = nullptr, *starts = nullptr, *members = nullptr;
  // By group the nearest others, `listed` of each, ascending by key.
  const std::int64_t* ids = nullptr;
  const double* keys = nullptr;
  std::int64_t listed = 0;
  std::int64_t rows = 0;              // in all
  std::int64_t first = 0, count = 0;  // those that are asked for
};

// Fills all slots of entries of rows first, first + 1, .. with their nearest, in any order. No row has fewer members in
// its groups, itself left out. Asynchronous.
void nearest_members(const MembersJob& job, const RowEntries& entries, cudaStream_t stream);

}  // namespace libknng::cuda
