// The matrix of pairs cut into tiles, and the queue that hands them out. Of a square matrix only the pairs (i, j) with
// i < j are evaluated, each for both rows (Dashti, Komarov and D'Souza 2013; Kato and Hosino 2009): tiles that lie
// wholly on or below the diagonal are left out, those that it crosses skip the pairs below it. Any tile shape will do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "core/checked.h"

namespace libknng {

struct Tile {
  std::int64_t row_block, column_block;
  std::int64_t first_row, rows;
  std::int64_t first_column, columns;
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

// Hands out tiles row block by row block, so that a thread can keep the rows it prepared. Any thread.
class TileQueue {
 public:
  explicit TileQueue(const TileGrid& grid) noexcept : grid_(grid), column_block_(grid.first_column_block(0)) {}

  bool next(Tile& tile) {
    const std::lock_guard lock(mutex_);
    while (row_block_ < grid_.row_blocks() && column_block_ >= grid_.column_blocks()) {
      ++row_block_;
      column_block_ = grid_.first_column_block(row_block_);
    }
    if (row_block_ >= grid_.row_blocks()) return false;
    tile = grid_.tile(row_block_, column_block_++);
    return true;
  }

 private:
  const TileGrid grid_;
  std::mutex mutex_;
  std::int64_t row_block_ = 0;
  std::int64_t column_block_;
};

}  // namespace libknng
