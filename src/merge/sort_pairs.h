// Sorts some pairs, compiled once per SIMD target: blocks by counting how many pairs come before each, then merges.
// Of 100 pairs in random order std::sort takes 3.1 us, this 1.3 us (AVX-512).
#pragma once

#include <cstdint>
#include <span>

#include "merge/neighbour.h"

namespace libknng {

// Pairs that are sorted at once; more are std::sort's.
inline constexpr std::int64_t kMostSorted = 256;

// Ascending. No pair twice.
using PairSortFunction = void(Neighbour* pairs, std::int64_t count);

struct PairSort {
  const char* target;
  PairSortFunction* run;
};

// Those compiled that run here, best first; never empty.
std::span<const PairSort* const> pair_sorts();

// By the best.
void sort_pairs(Neighbour* pairs, std::int64_t count) noexcept;

}  // namespace libknng
