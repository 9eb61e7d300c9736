// The matrix of pairs cut into tiles, and the queue that hands them out. Of a square matrix only the pairs (i, j) with
// i < j are evaluated, each for both rows (Dashti, Komarov and D'Souza 2013; Kato and Hosino 2009): tiles that lie
// wholly on or below the diagonal are left out, those that it crosses skip the pairs below it. Any tile shape will do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/division.h"

namespace libknng {

struct Tile {
  std::int64_t row_block = -1, column_block = -1;
  std::int64_t first_row = 0, rows = 0;
  std::int64_t first_column = 0, columns = 0;
};

struct TileGrid {
  std::int64_t rows = 0, columns = 0;         // points
  std::int64_t tile_rows = 1, tile_cols = 1;  // points of a tile
  bool square = false;

  std::int64_t row_blocks() const noexcept { return ceil_div(rows, tile_rows); }
  std::int64_t column_blocks() const noexcept { return ceil_div(columns, tile_cols); }

  // The first column block in which row block `b` has work.
  std::int64_t first_column_block(std::int64_t b) const noexcept {
    if (!square) return 0;
    const std::int64_t first = b * tile_rows + 1;  // right of the diagonal; the last row has nothing there
    return first < columns ? first / tile_cols : column_blocks();
  }

  std::int64_t tiles() const noexcept {
    std::int64_t count = 0;
    for (std::int64_t b = 0; b < row_blocks(); ++b)
      count += std::max<std::int64_t>(column_blocks() - first_column_block(b), 0);
    return count;
  }

  Tile tile(std::int64_t row_block, std::int64_t column_block) const noexcept {
    const std::int64_t row = row_block * tile_rows, column = column_block * tile_cols;
    return {
        row_block, column_block, row, std::min(tile_rows, rows - row), column, std::min(tile_cols, columns - column)};
  }

  // Pairs of a tile that are evaluated: those above the diagonal, if square.
  double pairs_of(const Tile& t) const noexcept {
    if (!square) return static_cast<double>(t.rows) * static_cast<double>(t.columns);
    double pairs = 0;
    for (std::int64_t i = t.first_row; i < t.first_row + t.rows; ++i)
      pairs += static_cast<double>(std::clamp<std::int64_t>(t.first_column + t.columns - 1 - i, 0, t.columns));
    return pairs;
  }
  // Pairs of all tiles.
  double pairs() const noexcept {
    const auto n = static_cast<double>(rows), m = static_cast<double>(columns);
    return square ? n * (n - 1) / 2 : n * m;
  }
};

// Hands out tiles. A thread gets the tiles of one band of row blocks after the other: all of the band under one column
// block, then the next, so that it can keep the rows that it prepared, and the columns for as long as the band is high.
// Threads work on different rows and columns as long as there are bands that nobody has begun; then they help with what
// is left. Any thread.
class TileQueue {
 public:
  // Of a square matrix in square tiles, bands of one block: the tiles on the diagonal, or the others.
  enum class Part { all, diagonal, beside_diagonal };

  // band: row blocks.
  explicit TileQueue(const TileGrid& grid, std::int64_t band = 1, Part part = Part::all)
      : grid_(grid), band_(band), next_(static_cast<std::size_t>(ceil_div(grid.row_blocks(), band))) {
    for (std::int64_t b = 0; b < bands(); ++b) {
      next(b) = {first_block(b), grid_.first_column_block(first_block(b)), 0};
      for (std::int64_t row = first_block(b); row < end_block(b); ++row)
        next(b).left += std::max<std::int64_t>(grid_.column_blocks() - grid_.first_column_block(row), 0);
      // A block of one row has no pair on the diagonal.
      const std::int64_t on_diagonal = next(b).column_block == b ? 1 : 0;
      if (part == Part::diagonal) next(b).left = on_diagonal;
      if (part != Part::beside_diagonal) continue;
      next(b).column_block += on_diagonal;
      next(b).left -= on_diagonal;
    }
  }

  // tile: the one that the thread got last, or a new one; replaced by the next.
  bool next(Tile& tile) {
    const std::lock_guard lock(mutex_);
    std::int64_t b = tile.row_block < 0 ? -1 : tile.row_block / band_;
    if (b < 0 || next(b).left == 0) {
      while (untouched_ < bands() && next(untouched_).left == 0) ++untouched_;
      b = untouched_ < bands() ? untouched_++ : longest();
    }
    if (b < 0) return false;
    BandCursor& at = next(b);
    tile = grid_.tile(at.row_block, at.column_block);
    --at.left;
    // Rows further down reach the diagonal at later columns.
    if (++at.row_block == end_block(b) || grid_.first_column_block(at.row_block) > at.column_block) {
      at.row_block = first_block(b);
      ++at.column_block;
    }
    return true;
  }

 private:
  // The tile of a band that nobody has yet, and how many there are.
  struct BandCursor {
    std::int64_t row_block, column_block, left;
  };

  std::int64_t bands() const noexcept { return static_cast<std::int64_t>(next_.size()); }
  std::int64_t first_block(std::int64_t b) const noexcept { return b * band_; }
  std::int64_t end_block(std::int64_t b) const noexcept { return std::min(first_block(b) + band_, grid_.row_blocks()); }
  BandCursor& next(std::int64_t b) noexcept { return next_[static_cast<std::size_t>(b)]; }
  // The band with most tiles left, -1 if there is none.
  std::int64_t longest() noexcept {
    std::int64_t best = -1;
    for (std::int64_t b = 0; b < bands(); ++b)
      if (next(b).left > (best < 0 ? 0 : next(best).left)) best = b;
    return best;
  }

  const TileGrid grid_;
  const std::int64_t band_;
  std::mutex mutex_;
  std::vector<BandCursor> next_;  // by band
  std::int64_t untouched_ = 0;    // the first band that nobody has begun
};

}  // namespace libknng
