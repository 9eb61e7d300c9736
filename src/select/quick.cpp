// Algorithm 1 of the paper ("GPU-based quick multi-select"): partition around a pivot; if enough is below, go on with
// that part, else keep it and go on with the rest. The line is read once, and with a pivot from a sample what is read
// and kept is little more than k (Floyd and Rivest 1975). Three ways rather than the paper's two, so that a line of
// equal pairs is done at once, and a pair's place decides among equals: partitions keep the order of places.
#include "select/quick.h"

#include <algorithm>
#include <utility>

#include "select/lines.h"

namespace libknng {
namespace {

constexpr std::int64_t kLargestSample = 128;

// Places of a sample: any sequence that does not follow the data's order (Lehmer's, with the multiplier of Steele and
// Vigna 2021). Results do not depend on it.
class Places {
 public:
  std::int64_t below(std::int64_t count) noexcept {
    state_ *= 0xd1342543de82ef95u;
    return static_cast<std::int64_t>((state_ >> 32) * static_cast<std::uint64_t>(count) >> 32);
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
};

class Quick {
 public:
  Quick(const QuickPartition& simd, std::int64_t longest, Workspace& space)
      : simd_(simd),
        pairs_(standings(longest, space)),
        greater_(standings(longest, space)),
        equal_(space.array<std::int32_t>(longest + kPartitionSlack)),
        sample_(space.array<std::int32_t>(kLargestSample)),
        ranks_(space.array<std::int32_t>(kFewPairs)) {}

  std::int64_t select(const Line& line, std::int64_t k, Standing after, Candidate* out) {
    Places places;
    std::int64_t found = 0;
    while (true) {
      const std::int32_t pivot = first_pivot(line, k - found, after, places);
      const std::int64_t count = simd_.gather(line.low, line.first, line.end, after, pivot, k - found, pairs_);
      if (found + count >= k || pivot == line.cut)
        return found + smallest(count, std::min(k - found, count), places, out + found);
      // The sample misled: all of these, and some of what comes behind the pivot.
      simd_.emit(pairs_, count, out + found);
      found += count;
      after = {pivot, INT32_MAX};
    }
  }

 private:
  static Standings standings(std::int64_t longest, Workspace& space) {
    return {space.array<std::int32_t>(longest + kPartitionSlack), space.array<std::int32_t>(longest + kPartitionSlack)};
  }

  // What is probably not below the `wanted` smallest after `after`, and not far above. A cut-off that has fallen is as
  // good: it lets through few.
  std::int32_t first_pivot(const Line& line, std::int64_t wanted, Standing after, Places& places) {
    const std::int64_t count = line.end - line.first;
    if (line.cut < order_of(std::numeric_limits<float>::infinity()) || count <= 4 * kFewPairs) return line.cut;
    const std::int64_t size = sample_size(count);
    const std::int64_t last = rank_behind(wanted, size, count);
    if (last >= size) return line.cut;
    std::int64_t used = 0;  // the smallest of the sample in ascending order, up to the one at rank `last`
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int32_t order = order_of(line.low[line.first + places.below(count)]);
      if (order <= after.order || order > line.cut || (used > last && order >= sample_[last])) continue;
      std::int64_t at = used <= last ? used++ : last;
      for (; at > 0 && sample_[at - 1] > order; --at) sample_[at] = sample_[at - 1];
      sample_[at] = order;
    }
    return used > last ? sample_[last] : line.cut;
  }

  // About half of the square root: a line of 2^10 is read with a sample of 16, one of 2^16 with 128.
  static std::int64_t sample_size(std::int64_t count) noexcept {
    std::int64_t size = kFewPairs;
    while (size < kLargestSample && 4 * size * size < count) size *= 2;
    return size;
  }

  // The rank in a sample behind which, but for two standard deviations, the `wanted` smallest do not reach.
  static std::int64_t rank_behind(std::int64_t wanted, std::int64_t size, std::int64_t count) noexcept {
    const std::int64_t expected = wanted * size / count + 1;
    std::int64_t deviation = 1;
    while (deviation * deviation < expected) ++deviation;
    return expected + 2 * deviation - 2;
  }

  // An element near rank `wanted` of the pairs.
  std::int32_t inner_pivot(const Standings& pairs, std::int64_t wanted, std::int64_t count, Places& places) {
    for (std::int64_t i = 0; i < kFewPairs; ++i) sample_[i] = pairs.orders[places.below(count)];
    simd_.rank(sample_, ranks_);
    const std::int64_t middle = std::min(kFewPairs - 1, wanted * kFewPairs / count);
    return sample_[std::find(ranks_, ranks_ + kFewPairs, middle) - ranks_];
  }

  // The `wanted` smallest of pairs_, which are by place. Returns `wanted`.
  std::int64_t smallest(std::int64_t count, std::int64_t wanted, Places& places, Candidate* out) {
    Standings pairs = pairs_, other = greater_;
    for (std::int64_t found = 0; found < wanted;) {
      const std::int64_t missing = wanted - found;
      if (missing == count) {
        simd_.emit(pairs, count, out + found);
        return wanted;
      }
      if (count <= kFewPairs) {
        std::fill(pairs.orders + count, pairs.orders + kFewPairs, INT32_MAX);
        simd_.rank(pairs.orders, ranks_);
        for (std::int64_t i = 0; i < count; ++i)
          if (ranks_[i] < missing) out[found++] = {float_of(pairs.orders[i]), pairs.places[i]};
        return wanted;
      }
      const std::int32_t pivot = inner_pivot(pairs, missing, count, places);
      const Split split = simd_.partition(pairs, count, pivot, equal_, other);
      count = split.less;
      if (missing <= split.less) continue;
      simd_.emit(pairs, split.less, out + found);
      found += split.less;
      const std::int64_t equal = std::min(wanted - found, split.equal);
      for (std::int64_t i = 0; i < equal; ++i) out[found++] = {float_of(pivot), equal_[i]};
      std::swap(pairs, other);
      count = split.greater;
    }
    return wanted;
  }

  const QuickPartition& simd_;
  Standings pairs_, greater_;
  std::int32_t* equal_;
  std::int32_t* sample_;
  std::int32_t* ranks_;
};

struct QuickLayout {
  QuickLayout(const QuickPartition& simd, std::int64_t rows, std::int64_t columns, std::int64_t k, bool both,
              Workspace space)
      : lines(rows, columns, k, both, space),
        quick(simd, both ? std::max(rows, columns) : columns, space),
        bytes(space.bytes()) {}

  Lines lines;
  Quick quick;
  std::int64_t bytes;
};

}  // namespace

std::int64_t quick_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both) {
  return QuickLayout(*quick_partitions().front(), rows, columns, k, both, Workspace()).bytes;
}

void run_quick(const QuickPartition& simd, const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink) {
  QuickLayout at(simd, tile.rows, tile.columns, k, tile.column_cuts != nullptr, Workspace(workspace));
  at.lines.run(tile, sink, [&](const Line& line, std::int64_t wanted, const Standing& after, Candidate* out) {
    return at.quick.select(line, wanted, after, out);
  });
}

void run_quick(const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink) {
  run_quick(*quick_partitions().front(), tile, k, workspace, sink);
}

}  // namespace libknng
