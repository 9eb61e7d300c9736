// How a list of the k smallest pairs takes pairs in bulk: it is in ascending order, arrivals lie beside it as they
// came, and now and then they are sorted and merged with it. That costs a few operations an arrival, where a heap pays
// log k, and the list is in order at the end. Knows nothing of rows, threads, or what keys mean.
#pragma once

#include <algorithm>
#include <cstdint>

#include "merge/sort_pairs.h"

namespace libknng {

// Arrivals that a list of k has room for: enough to spread the cost of a merge, little enough for a fresh cut-off.
inline std::int64_t room_for_arrivals(std::int64_t k) noexcept {
  return std::clamp<std::int64_t>(k / 4, 32, kMostSorted);
}

// Merges `arrived` pairs in any order with a list of `ordered` pairs; its k smallest stay. Returns their number.
// dropped: the first pair that is left out; as it was if there is none.
inline std::int64_t merge_arrivals(Neighbour* list, std::int64_t ordered, Neighbour* arrivals, std::int64_t arrived,
                                   std::int64_t k, Neighbour* dropped) noexcept {
  sort_pairs(arrivals, arrived);
  while (ordered + arrived > k)
    *dropped = ordered == 0 || (arrived > 0 && list[ordered - 1] < arrivals[arrived - 1]) ? arrivals[--arrived]
                                                                                          : list[--ordered];
  const std::int64_t count = ordered + arrived;
  // From the end, so that nothing is overwritten that is still to be read.
  for (std::int64_t to = count - 1; ordered > 0 && arrived > 0; --to) {
    const bool takes_arrival = list[ordered - 1] < arrivals[arrived - 1];
    const Neighbour taken = *(takes_arrival ? arrivals + arrived - 1 : list + ordered - 1);
    arrived -= takes_arrival;
    ordered -= !takes_arrival;
    list[to] = taken;
  }
  std::copy_n(arrivals, arrived, list);
  return count;
}

}  // namespace libknng
