// Algorithm 4 of the paper ("Computation of the kNN kernel", figure 8), with a line for its thread: the k kept so far
// are a list without order, and Maxk is the position of the farthest of them. A pair that is nearer replaces it, and
// the list is searched for the new farthest. One comparison for a pair that is not kept, k for one that is: made for
// small k, and for lines whose cut-off has fallen already.
#include "select/insertion.h"

#include "select/lines.h"

namespace libknng {
namespace {

// The k kept, with their orders apart: those are what the search reads.
struct Kept {
  std::int32_t* orders;
  std::int32_t* places;
};

// Maxk: of equal ones the farther place, which goes first.
std::int64_t farthest(const Kept& kept, std::int64_t k) noexcept {
  std::int64_t maxk = 0;
  for (std::int64_t c = 1; c < k; ++c)
    if (kept.orders[c] > kept.orders[maxk] ||
        (kept.orders[c] == kept.orders[maxk] && kept.places[c] > kept.places[maxk]))
      maxk = c;
  return maxk;
}

std::int64_t select(const Line& line, std::int64_t k, const Standing& after, const Kept& kept, Candidate* out) {
  std::int64_t count = 0, place = line.first;
  for (; place < line.end && count < k; ++place) {
    const Standing pair{order_of(line.low[place]), static_cast<std::int32_t>(place)};
    if (pair.order > line.cut || !(after < pair)) continue;
    kept.orders[count] = pair.order;
    kept.places[count++] = pair.place;
  }
  if (count == k) {
    std::int64_t maxk = farthest(kept, k);
    for (; place < line.end; ++place) {
      const Standing pair{order_of(line.low[place]), static_cast<std::int32_t>(place)};
      if (pair.order >= kept.orders[maxk] || !(after < pair)) continue;  // of equal ones the first stays
      kept.orders[maxk] = pair.order;
      kept.places[maxk] = pair.place;
      maxk = farthest(kept, k);
    }
  }
  for (std::int64_t c = 0; c < count; ++c) out[c] = {line.low[kept.places[c]], kept.places[c]};
  return count;
}

struct InsertionLayout {
  InsertionLayout(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both, Workspace space)
      : lines(rows, columns, k, both, space),
        kept{space.array<std::int32_t>(std::min(k, std::max(rows, columns))),
             space.array<std::int32_t>(std::min(k, std::max(rows, columns)))},
        bytes(space.bytes()) {}

  Lines lines;
  Kept kept;
  std::int64_t bytes;
};

}  // namespace

std::int64_t insertion_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both) {
  return InsertionLayout(rows, columns, k, both, Workspace()).bytes;
}

void run_insertion(const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink) {
  InsertionLayout at(tile.rows, tile.columns, k, tile.column_cuts != nullptr, Workspace(workspace));
  at.lines.run(tile, sink, [&](const Line& line, std::int64_t wanted, const Standing& after, Candidate* out) {
    return select(line, wanted, after, at.kept, out);
  });
}

}  // namespace libknng
