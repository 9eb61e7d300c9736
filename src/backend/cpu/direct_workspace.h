// The working memory of one thread of the direct engine, allocated before the threads start, so that none can fail.
#pragma once

#include <cstdint>

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/packed.h"
#include "core/buffer.h"
#include "core/division.h"

namespace libknng {

struct DirectWorkspace {
  static constexpr int kMostLanes = 8;
  // Survivors are handed to the lists strip by strip; a strip has at most this many pairs, or one panel of rows.
  static constexpr std::int64_t kStripPairs = 1 << 10;

  DirectWorkspace(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim, Budget* budget)
      : strip_rows(strip(tile_rows, tile_cols)),
        rows(packed(tile_rows, dim), budget),
        columns(packed(tile_cols, dim), budget),
        row(dim, budget),
        cutoffs(2 * (padded(tile_rows) + padded(tile_cols)), budget),
        survivors(strip_rows * tile_cols, budget),
        loaded_rows(tile_rows, budget),
        loaded_columns(tile_cols, budget) {}

  static std::int64_t bytes(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim) {
    const std::int64_t doubles =
        packed(tile_rows, dim) + packed(tile_cols, dim) + dim + 2 * (padded(tile_rows) + padded(tile_cols));
    return 8 * doubles + static_cast<std::int64_t>(sizeof(Survivor)) * strip(tile_rows, tile_cols) * tile_cols +
           tile_rows + tile_cols;
  }

  std::int64_t strip_rows;  // rows of a strip, whole panels
  Buffer<double> rows;      // packed, or one after the other
  Buffer<double> columns;   // likewise
  Buffer<double> row;       // one transformed row
  Buffer<double> cutoffs;   // of rows, of columns; then whether rows and columns have no direction
  Buffer<Survivor> survivors;
  Buffer<std::uint8_t> loaded_rows, loaded_columns;  // one after the other: which of them are there

 private:
  static std::int64_t padded(std::int64_t points) { return round_up(points, kPanelRows); }
  static std::int64_t packed(std::int64_t points, std::int64_t dim) {
    return checked_mul(padded(points), round_up(dim, kMostLanes), "tile_rows");
  }
  static std::int64_t strip(std::int64_t tile_rows, std::int64_t tile_cols) {
    const std::int64_t rows = kStripPairs / tile_cols / kPanelRows * kPanelRows;
    return rows < kPanelRows ? kPanelRows : rows < padded(tile_rows) ? rows : padded(tile_rows);
  }
};

}  // namespace libknng
