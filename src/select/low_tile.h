// What selectors select from and hand on. A tile holds one number for each pair of a block of rows with a block of
// columns: `low`, a lower bound of the pair's key. A line is a row, or a column, of it; a place is where a pair stands
// in its line. Wanted are a line's k smallest under (low, place) among those that are not above the line's cut-off, and
// if they do not suffice to rule out the others, the next k. Knows nothing of keys, ids or lists.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

namespace libknng {

struct LowTile {
  const float* low;  // of pair (i, j) at [i stride + j]
  std::int64_t stride = 0;
  std::int64_t rows = 0, columns = 0;
  std::int64_t diagonal = INT64_MIN;   // pairs with column <= row + diagonal are not there
  const float* row_cuts;               // by row: what is above cannot belong
  const float* column_cuts = nullptr;  // by column; nullptr: rows only

  // The first column of a row, and the row behind the last of a column.
  std::int64_t first_column(std::int64_t row) const noexcept {
    if (diagonal == INT64_MIN || row + diagonal + 1 < 0) return 0;
    return row + diagonal + 1 < columns ? row + diagonal + 1 : columns;
  }
  std::int64_t end_row(std::int64_t column) const noexcept {
    if (diagonal == INT64_MIN || column - diagonal > rows) return rows;
    return column > diagonal ? column - diagonal : 0;
  }
  // The longest line.
  std::int64_t longest() const noexcept { return column_cuts && rows > columns ? rows : columns; }
};

struct Candidate {
  float low;
  std::int32_t place;
};

// What becomes of candidates.
class Sink {
 public:
  virtual ~Sink() = default;
  // Candidates of a row or a column, in any order. Those of the same line come closest first from call to call. Returns
  // the line's cut-off, which may have fallen; -inf: it wants no more.
  virtual float take(bool column, std::int64_t line, std::span<const Candidate> candidates) = 0;
};

// Integers in the order of floats, -0 and +0 being equal. NaN comes before all others: nothing is known of its pair, so
// it must not be left out.
inline constexpr std::int32_t kFirstOrder = INT32_MIN;
inline std::int32_t order_of(float low) noexcept {
  if (low != low) return kFirstOrder;
  const auto bits = std::bit_cast<std::int32_t>(low + 0.0f);
  return bits ^ ((bits >> 31) & INT32_MAX);
}
inline float float_of(std::int32_t order) noexcept { return std::bit_cast<float>(order ^ ((order >> 31) & INT32_MAX)); }
// A cut-off of NaN leaves nothing out.
inline std::int32_t order_of_cut(float cut) noexcept { return cut != cut ? INT32_MAX : order_of(cut); }
inline constexpr float kWantsNoMore = -std::numeric_limits<float>::infinity();

// A pair of a line in its order.
struct Standing {
  std::int32_t order;
  std::int32_t place;

  friend bool operator<(const Standing& a, const Standing& b) noexcept {
    return a.order < b.order || (a.order == b.order && a.place < b.place);
  }
};
inline constexpr Standing kBeforeAll = {kFirstOrder, -1};

}  // namespace libknng
