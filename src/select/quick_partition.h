// The partitions of quick multi-select, compiled once per SIMD target: a comparison makes a mask of a vector, the lanes
// of the mask are stored one after the other, and their number moves the end. That is the ballot, shift and population
// count of the paper's warps. Orders of equal keys are kept. Knows nothing of pivots' choice.
#pragma once

#include <cstdint>
#include <span>

#include "select/low_tile.h"

namespace libknng {

// Pairs of a line: their orders and their places, apart. Partitions may write up to kPartitionSlack entries past what
// they report.
struct Standings {
  std::int32_t* orders;
  std::int32_t* places;
};
inline constexpr std::int64_t kPartitionSlack = 16;
inline constexpr std::int64_t kFewPairs = 16;

struct Split {
  std::int64_t less, equal, greater;
};

struct QuickPartition {
  const char* target;
  // Pairs of a line at places [first, end) that come after `after` and are not above `pivot`, by place. Once there are
  // `wanted` of them what equals the pivot comes behind them all and is left out. Returns how many.
  std::int64_t (*gather)(const float* low, std::int64_t first, std::int64_t end, Standing after, std::int32_t pivot,
                         std::int64_t wanted, Standings to);
  // Three ways: what is below the pivot stays in `pairs`, the places of what equals it go to `equal`, the others to
  // `greater`.
  Split (*partition)(Standings pairs, std::int64_t count, std::int32_t pivot, std::int32_t* equal, Standings greater);
  // The standings as candidates; `to` takes kPartitionSlack more.
  void (*emit)(Standings pairs, std::int64_t count, Candidate* to);
  // ranks[i]: how many of kFewPairs orders come before the i-th, of equal ones the first.
  void (*rank)(const std::int32_t* orders, std::int32_t* ranks);
};

// Those compiled that run here, best first; never empty.
std::span<const QuickPartition* const> quick_partitions();

}  // namespace libknng
