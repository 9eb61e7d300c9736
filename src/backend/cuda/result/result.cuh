// The last step of every path to the result on the device: a row's keys and ids sorted, the proof, and what the graph
// stores: ids, values as reported, ties, the row itself in front if that is asked for. Knows nothing of where keys come
// from. As exec/emit.cpp for the host.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "core/admission.h"
#include "metric/metric.h"

namespace libknng::cuda {

inline constexpr std::uint32_t kNoId = 0xffffffff;  // an entry that stands for nothing: its key is infinite

// In device memory; counts go on from what they are.
struct ResultFindings {
  static constexpr unsigned long long kNothing = ~0ull;
  unsigned long long candidates = 0;              // most in a list
  unsigned long long keys = 0;                    // evaluated of candidates
  unsigned long long violations = 0;              // of them, outside their proved bounds
  unsigned long long unproved = 0;                // rows in ResultRows::redo
  unsigned long long first_too_large = kNothing;  // first proved row with a value that the value type cannot hold
};

// Before anything is counted. Asynchronous.
void clear(ResultFindings* findings, cudaStream_t stream);

// Where the result goes: device memory, `width` entries a row, row `first` of the problem at place 0.
struct ResultRows {
  std::int64_t first = 0;
  bool packed = false;     // rows of a list lie at their places in it instead
  std::int64_t width = 0;  // k, or k + 1 with the row itself in front
  std::int64_t* ids = nullptr;
  void* values = nullptr;
  std::int32_t value_dtype = 0;    // KNNG_F32 or KNNG_F64
  bool similarity = false;         // what values are
  std::uint8_t* ties = nullptr;    // whether a pair that was left out has the last entry's key
  std::uint8_t* proved = nullptr;  // 0: what is stored may be wrong; else `rung`
  std::uint8_t rung = 1;
  double* last_keys = nullptr;   // the k-th key, infinite for shorter lists; null: not wanted
  std::int64_t* redo = nullptr;  // rows not proved, in any order; null: not wanted
  ResultFindings* findings = nullptr;
};

// Keys of rows with their ids, `slots` a row, in any order; ids of a row are distinct.
struct RowEntries {
  double* keys = nullptr;
  std::uint32_t* ids = nullptr;
  std::int32_t* filled = nullptr;  // entries of a row
  double* self_keys = nullptr;     // the row's key with itself; null: 0
  std::int64_t slots = 0;
};

inline RowEntries take_entries(Workspace& space, std::int64_t rows, std::int64_t slots, bool self_keys) {
  RowEntries entries;
  entries.keys = space.take<double>(rows * slots);
  entries.ids = space.take<std::uint32_t>(rows * slots);
  entries.filled = space.take<std::int32_t>(rows);
  entries.self_keys = self_keys ? space.take<double>(rows) : nullptr;
  entries.slots = slots;
  return entries;
}

// Under inner_product the row's key with itself is like any other; elsewhere it is 0.
inline bool wants_self_keys(const Metric& metric, std::int64_t k, std::int64_t width) {
  return width > k && metric.term == Term::product;
}

struct ResultJob {
  RowEntries entries;
  const std::int64_t* list = nullptr;  // the rows of the problem that the entries are of; null: first, first + 1, ...
  std::int64_t first = 0, count = 0;
  std::int64_t k = 0;
  std::int64_t columns = 0;
  Admission admission;                      // by row of the problem
  const RowConstants* constants = nullptr;  // of the rows, for metrics with directions: theirs is proved by definition
  const std::uint32_t* lists = nullptr;     // by entry row: the list that it is of; null: that of its number
  const float* dropped = nullptr;           // by list: smallest `low` that was left out; null: nothing was
  // By list: a pair that was left out has a low above this, or of at least `dropped`; null: none was left out.
  const float* cutoffs = nullptr;
  const std::int32_t* kept = nullptr;  // by list: more than `capacity` means a list that lost entries
  std::int64_t capacity = 0;
  double scale = 1;  // from key to `low`
};

// Sorts entries (they are scratch afterwards) and stores. Asynchronous.
void store_result(const ResultJob& job, const Metric& metric, const ResultRows& result, cudaStream_t stream);

}  // namespace libknng::cuda
