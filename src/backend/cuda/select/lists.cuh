// A job as kernels see it: lists and their elements instead of rows and columns, and how a low is read from the tile.
#pragma once

#include <type_traits>

#include "backend/cuda/select/integer_terms.h"
#include "backend/cuda/select/key.cuh"
#include "backend/cuda/select/select.cuh"

namespace libknng::cuda {

struct ListView {
  const float* tile;
  std::int64_t ld;
  const float* list_terms;
  const float* element_terms;
  int lists;
  int length;  // elements of a list, of the longest
  int square;  // of SelectJob
  std::uint32_t first_id;
  ListAdmission admission;
  const float* cutoffs;
  int capacity;
  Candidate* out;
  std::int32_t* counts;
  float* dropped;
  bool only_overflown;

  __device__ bool wanted(int list) const { return !only_overflown || counts[list] > capacity; }
  // Of a job of squares: how much further along the list's elements begin.
  __device__ int shift(int list) const { return square == 0 ? 0 : list / square * square; }
  __device__ int length_of(int list) const { return square == 0 ? length : min(length, lists - shift(list)); }
  // What survives is what is below this.
  __device__ float limit(int list) const { return cutoffs ? next_up(cutoffs[list]) : infinity(); }
  __device__ std::uint32_t first_id_of(int list) const { return first_id + static_cast<unsigned>(shift(list)); }
  __device__ ElementAdmission admission_of(int list) const { return admission.of(list, first_id_of(list)); }
};

inline ListView list_view(const SelectJob& job) {
  const bool rows = job.side == Side::rows;
  return {job.tile,
          job.ld,
          rows ? job.row_terms : job.column_terms,
          rows ? job.column_terms : job.row_terms,
          list_count(job),
          list_length(job),
          job.square,
          job.first_id,
          job.admission,
          job.cutoffs,
          job.capacity,
          job.out,
          job.counts,
          job.dropped,
          job.only_overflown};
}

// Where lows come from: the one thing that kernels are templates of. is_none(): of the term of a point that is no
// candidate.
struct StoredLow {
  static constexpr bool has_terms = false;
  static __device__ float low(float stored, float, float) { return stored; }
  static __device__ bool is_none(float) { return false; }
};
struct ProductLow {
  static constexpr bool has_terms = true;
  static __device__ float low(float product, float list_term, float element_term) {
    return __fmaf_rn(-2.0F, product, __fadd_rn(list_term, element_term));
  }
  static __device__ bool is_none(float term) { return term == infinity(); }
};

// Of products of bytes. A pair of a point that is no candidate has a low, too, above those of nearly all others.
struct IntegerLow {
  static constexpr bool has_terms = true;
  static __device__ float low(float product, float list_term, float element_term) {
    return __int2float_rd(__float_as_int(list_term) + __float_as_int(element_term) - 2 * __float_as_int(product));
  }
  static __device__ bool is_none(float term) { return __float_as_int(term) == kNoIntegerTerm; }
};

// Calls f with the one of them that the job's tile has.
template <class F>
void with_low(const SelectJob& job, F&& f) {
  if (job.integers)
    f(IntegerLow{});
  else if (job.row_terms && job.column_terms)
    f(ProductLow{});
  else
    f(StoredLow{});
}

}  // namespace libknng::cuda
