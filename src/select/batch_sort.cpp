// The paper's section "Batch index sort for k-NN" (figure 7): the pairs of the tile, each with its row and its column,
// are sorted by their numbers; then, keeping that order, once by row and once by column. The first pairs of a row's
// run, and of a column's, are its nearest, and one sort has served both sides without turning the tile. It costs the
// same whatever k is. Pairs that neither side can want are dropped before, which the paper does not do.
#include "select/batch_sort.h"

#include <algorithm>
#include <utility>

#include "select/workspace.h"

namespace libknng {
namespace {

struct Pair {
  std::uint32_t key;  // in the order of `low`
  std::int32_t row, column;
};

std::uint32_t key_of(std::int32_t order) noexcept { return static_cast<std::uint32_t>(order) ^ 0x80000000u; }

constexpr int kDigitBits = 11;  // three passes
constexpr std::int64_t kDigits = std::int64_t{1} << kDigitBits;

// One stable pass of a radix sort, from least significant digits up (Knuth, vol. 3, section 5.2.5). ends: room for
// `digits`, afterwards where each digit's run ends. Without moving anything if all have the same digit: returns false.
template <class Digit>
bool sort_pass(const Pair* from, std::int64_t count, Pair* to, std::int64_t digits, std::int64_t* ends, Digit digit) {
  std::fill_n(ends, digits, 0);
  for (std::int64_t i = 0; i < count; ++i) ++ends[digit(from[i])];
  if (count == 0 || ends[digit(from[0])] == count) return false;
  std::int64_t before = 0;
  for (std::int64_t d = 0; d < digits; ++d) before += std::exchange(ends[d], before);
  for (std::int64_t i = 0; i < count; ++i) to[ends[digit(from[i])]++] = from[i];
  return true;
}

struct BatchLayout {
  BatchLayout(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both, Workspace space)
      : pairs(space.array<Pair>(checked_mul(rows, columns, "tile_rows"))),
        other(space.array<Pair>(checked_mul(rows, columns, "tile_rows"))),
        ends(space.array<std::int64_t>(std::max({rows, columns, kDigits}))),
        column_cuts(both ? space.array<std::int32_t>(columns) : nullptr),
        candidates(space.array<Candidate>(std::min(k, std::max(rows, columns)))),
        bytes(space.bytes()) {}

  Pair* pairs;
  Pair* other;
  std::int64_t* ends;
  std::int32_t* column_cuts;  // as orders
  Candidate* candidates;
  std::int64_t bytes;
};

std::int64_t gather(const LowTile& tile, const BatchLayout& at) {
  for (std::int64_t j = 0; tile.column_cuts && j < tile.columns; ++j)
    at.column_cuts[j] = order_of_cut(tile.column_cuts[j]);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const float* low = tile.low + i * tile.stride;
    const std::int32_t cut = order_of_cut(tile.row_cuts[i]);
    for (std::int64_t j = tile.first_column(i); j < tile.columns; ++j) {
      const std::int32_t order = order_of(low[j]);
      at.pairs[count] = {key_of(order), static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)};
      count += order <= cut || (tile.column_cuts && order <= at.column_cuts[j]) ? 1 : 0;
    }
  }
  return count;
}

// Hands on the run of a line, k at a time, as long as its pairs are not above the cut-off.
void walk(const LowTile& tile, bool column, std::int64_t line, const Pair* run, const Pair* end, std::int64_t k,
          Candidate* candidates, Sink& sink) {
  std::uint32_t cut = key_of(order_of_cut(column ? tile.column_cuts[line] : tile.row_cuts[line]));
  while (true) {
    std::int64_t found = 0;
    for (; found < k && run < end && run->key <= cut; ++run)
      candidates[found++] = {tile.low[run->row * tile.stride + run->column], column ? run->row : run->column};
    if (found == 0) return;
    const float now = sink.take(column, line, {candidates, static_cast<std::size_t>(found)});
    if (found < k || now == kWantsNoMore) return;
    cut = std::min(cut, key_of(order_of_cut(now)));
  }
}

// The pairs, which are in the order of their keys, line by line. Leaves them as they are.
template <class LineOf>
void walk_side(const LowTile& tile, bool column, std::int64_t lines, const BatchLayout& at, const Pair* pairs,
               std::int64_t count, Pair* other, std::int64_t k, Sink& sink, LineOf line_of) {
  const bool moved = sort_pass(pairs, count, other, lines, at.ends, line_of);
  if (!moved) {  // all in one line
    if (count > 0) walk(tile, column, line_of(pairs[0]), pairs, pairs + count, k, at.candidates, sink);
    return;
  }
  for (std::int64_t line = 0, from = 0; line < lines; from = at.ends[line++])
    walk(tile, column, line, other + from, other + at.ends[line], k, at.candidates, sink);
}

}  // namespace

std::int64_t batch_sort_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both) {
  return BatchLayout(rows, columns, k, both, Workspace()).bytes;
}

void run_batch_sort(const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink) {
  const BatchLayout at(tile.rows, tile.columns, k, tile.column_cuts != nullptr, Workspace(workspace));
  const std::int64_t wanted = std::min(k, tile.longest());
  const std::int64_t count = gather(tile, at);
  Pair* pairs = at.pairs;
  Pair* other = at.other;
  for (int shift = 0; shift < 32; shift += kDigitBits)
    if (sort_pass(pairs, count, other, kDigits, at.ends,
                  [shift](const Pair& p) { return static_cast<std::int64_t>(p.key >> shift & (kDigits - 1)); }))
      std::swap(pairs, other);
  walk_side(tile, false, tile.rows, at, pairs, count, other, wanted, sink,
            [](const Pair& p) { return std::int64_t{p.row}; });
  if (tile.column_cuts)
    walk_side(tile, true, tile.columns, at, pairs, count, other, wanted, sink,
              [](const Pair& p) { return std::int64_t{p.column}; });
}

}  // namespace libknng
