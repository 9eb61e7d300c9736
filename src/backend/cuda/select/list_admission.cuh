// Who may come into lists of candidates, keys aside: core/admission.h as kernels ask it. Ids are places in the order in
// which columns are compared, not the caller's; who fills the arrays knows the order. Selectors and fused kernels get
// the object whole and take the rule of a list once. A further rule is a member of both structs and a line of each of
// their functions. Knows nothing of tiles.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace libknng::cuda {

// The rule of one list, for the elements of which a job has its candidates: element e is id first_id + e.
struct ElementAdmission {
  std::uint32_t excluded = ~0U;  // the element that the list must not get; none: not below its length

  KNNG_HD bool admits(std::uint32_t element) const { return element != excluded; }
  // What it admits of a thread's mask of elements [start, start + Batches::step): Batches::bit(i) has the bit of
  // element start + i, 0 if that is another thread's.
  template <class Batches>
  KNNG_HD unsigned admitted(unsigned mask, unsigned start) const {
    if (excluded - start < Batches::step) mask &= ~Batches::bit(excluded - start);
    return mask;
  }
};

struct ListAdmission {
  const std::uint32_t* excluded = nullptr;  // by list: the id that it must not get; null: there is none

  // Every list every element: then no rule has to be read.
  KNNG_HD bool admits_all() const { return !excluded; }
  // For lists from `first` on, counted from there.
  ListAdmission from(std::int64_t first) const { return {excluded ? excluded + first : nullptr}; }
  KNNG_HD ElementAdmission of(int list, std::uint32_t first_id) const {
    return {excluded ? excluded[list] - first_id : ~0U};
  }
};

}  // namespace libknng::cuda
