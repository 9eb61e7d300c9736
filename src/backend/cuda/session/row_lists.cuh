// A list of candidates for every row of a problem, with who may be in it. Where points are compared in another order
// (PointStore::places()), rows and ids are places in it. Knows nothing of how candidates are found.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/select/candidate.cuh"
#include "backend/cuda/select/list_admission.cuh"
#include "backend/cuda/select/merge.cuh"
#include "backend/seam.h"
#include "core/admission.h"

namespace libknng::cuda {

class RowLists {
 public:
  RowLists(const knng_backend_problem& p, ArraySource& source);

  // Who may be in the lists, by row of the problem, on the host. places: where each run of columns is in the order in
  // which they are compared, whose places are the ids then; empty: as they come.
  void admit(const Admission& admission, std::span<const std::int64_t> places, const Stream& stream);
  // For lists of rows `first` and on. apart: of candidates that are other points than their rows.
  ListAdmission admission(std::int64_t first, bool apart) const;

  // first_cutoff: of Admission, in the units of lows, rounded up. Lists have all their places again.
  void clear(float first_cutoff, const Stream& stream);
  // Fewer places, while no list has an entry.
  void shorten(std::int64_t places) { capacity_ = places; }
  // The same, but cut-offs stay. A list whose k-th key turns out to be above its own is not proved.
  void empty(const Stream& stream);
  // Lists of rows `first` and on; or, while none has an entry, shorter ones in the same memory.
  CandidateLists from(std::int64_t first) const { return from(first, capacity_); }
  CandidateLists from(std::int64_t first, std::int64_t capacity) const;
  // By row.
  const float* cutoffs() const noexcept { return cutoffs_.data(); }
  float* dropped() const noexcept { return dropped_.data(); }

  // Lowers cut-offs to those of the same rows of another problem's lists, which may fall meanwhile: whatever is read is
  // true. In memory that the device reads; else between them, by copies through `space`.
  void lower_cutoffs(const RowLists& from, const Stream& stream);
  void lower_cutoffs(const RowLists& from, int device, int device_of_from, const DeviceArray<float>& space,
                     const Stream& stream);

 private:
  const std::int64_t rows_, most_;
  std::int64_t capacity_;
  const bool square_;
  DeviceArray<Candidate> entries_;
  DeviceArray<std::int32_t> counts_;
  DeviceArray<float> cutoffs_, dropped_;
  DeviceArray<std::uint32_t> excluded_;
};

}  // namespace libknng::cuda
