// Lists of candidates that grow tile by tile: each keeps its C smallest lows and remembers the smallest it ever lost.
// Knows nothing of tiles; what the bounds b are, the plan knows.
#pragma once

#include <cuda_runtime.h>

#include <optional>

#include "backend/cuda/select/select.cuh"
#include "refine/sum_bound.h"

namespace libknng::cuda {

// Lists with more room than this are in no order; others are ascending, by low and then id.
inline constexpr int kLongestSorted = 256;

// Device memory; list i is entries[i * capacity .. + counts[i]), its ids differing from one another. Every pair of the
// list that is not in it has a low of at least dropped[i] or above a cut-off that the list once had; so it can be a
// neighbour only if its low is at least min(dropped[i], cutoffs[i]).
struct CandidateLists {
  Candidate* entries = nullptr;
  std::int32_t* counts = nullptr;
  int capacity = 0;
  float* cutoffs = nullptr;
  float* dropped = nullptr;
};

// What was found for each list: entries[i * capacity .. + min(counts[i], capacity)), none of whose ids is in list i.
struct Incoming {
  const Candidate* entries = nullptr;
  const std::int32_t* counts = nullptr;
  int capacity = 0;
};

// The bounds: the key of candidate c of list i is at most up = low + 2 (of_list[i] + of_id[c.id]). What a list's k-th
// smallest key can be at most follows from k. With fewer widths, or with a lower rank in place of k, it is a guess.
// Null pointers: the key is at most sums.up(low), or, without that, `low` is the key rounded down to fp32. Keys in the
// units of lows.
struct Bounds {
  int k = 0;
  const float* of_list = nullptr;
  const float* of_id = nullptr;
  std::optional<SumBound> sums = {};
  float widths = 2;  // in place of the 2 of up. Keys are at 1 if errors cancel; less than 2 makes cut-offs guesses
};

// What was found for the first `count` of the lists, or for those that are numbered.
struct MergeJob {
  CandidateLists lists;
  std::int64_t count = 0;
  Incoming incoming;
  Bounds bounds;
  const std::uint32_t* numbers = nullptr;
};

// For each list with incoming candidates: the C smallest of both stay, dropped falls to the smallest that does not,
// the cut-off falls to what the entries prove of their k-th, the k of the bounds.
void merge(const MergeJob& job, cudaStream_t stream);
// Of rows and of columns, which are other lists of the same capacities.
void merge(const MergeJob& rows, const MergeJob& columns, cudaStream_t stream);

// The lists that two devices made of different pairs of the same rows: `count` of them, or those numbered numbers[0],
// ..., numbers[count - 1] where that is not null. `from` may be in another device's memory that this one can read.
void merge_lists(const CandidateLists& into, const CandidateLists& from, const std::uint32_t* numbers,
                 std::int64_t count, const Bounds& bounds, cudaStream_t stream);

}  // namespace libknng::cuda
