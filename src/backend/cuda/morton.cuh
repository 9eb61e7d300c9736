// Morton codes: points whose codes are near lie near each other. Every bit of a code halves the longest side of its
// cell, so that long boxes of data are first cut across. Order decides how fast points are found, never which.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/short_key.cuh"
#include "core/host_device.h"
#include "metric/ops.h"

namespace libknng::cuda {

inline constexpr int kCodeBits = 63;
inline constexpr int kMostCellBits = 31;  // of one coordinate
// Sorts behind every code.
inline constexpr std::uint64_t kNoCode = ~std::uint64_t{0};

struct MortonGrid {
  int dim = 0;
  int length = 0;  // bits of a code
  // Of each bit, from the top: the coordinate that it halves, and which bit of that coordinate's cell it is.
  std::uint8_t axis[kCodeBits] = {}, shift[kCodeBits] = {};
  std::uint8_t bits[kShortDim] = {};
  double low[kShortDim] = {}, extent[kShortDim] = {};
};

// Which of its 2^bits cells a coordinate lies in; what is outside counts to the outermost. Never falls as x grows:
// subtraction, division and multiplication round monotonely.
KNNG_HD inline std::uint32_t cell_of(const MortonGrid& grid, int t, double x) {
  const std::uint32_t cells = std::uint32_t{1} << grid.bits[t];
  if (cells == 1) return 0;
  const double share = ScalarOps::div(ScalarOps::sub(x, grid.low[t]), grid.extent[t]);
  if (!(share > 0)) return 0;
  if (share >= 1) return cells - 1;
  return static_cast<std::uint32_t>(ScalarOps::mul(share, static_cast<double>(cells)));
}

KNNG_HD inline std::uint64_t morton_code(const MortonGrid& grid, const double* u) {
  std::uint32_t cells[kShortDim] = {};
  for (int t = 0; t < grid.dim; ++t) cells[t] = cell_of(grid, t, u[t]);
  std::uint64_t code = 0;
  for (int i = 0; i < grid.length; ++i) code = code << 1 | (cells[grid.axis[i]] >> grid.shift[i] & 1);
  return code;
}

// A grid for points of which `sample` (rows of dim coordinates) are some. It covers the middle 98 of 100 and a quarter
// more on each side, so that a far outlier does not take all cells.
inline MortonGrid make_grid(std::span<const double> sample, int dim) {
  MortonGrid grid;
  grid.dim = dim;
  const std::size_t rows = sample.size() / static_cast<std::size_t>(dim);
  if (rows == 0) return grid;
  std::vector<double> values(rows), sides(static_cast<std::size_t>(dim));
  for (int t = 0; t < dim; ++t) {
    for (std::size_t i = 0; i < rows; ++i)
      values[i] = sample[i * static_cast<std::size_t>(dim) + static_cast<std::size_t>(t)];
    std::sort(values.begin(), values.end());
    double low = values[rows / 100], high = values[rows - 1 - rows / 100];
    if (low == high) {
      low = values.front();
      high = values.back();
    }
    const double extent = high - low;
    grid.low[t] = low - extent / 4;
    grid.extent[t] = std::min(1.5 * extent, DBL_MAX);
    sides[static_cast<std::size_t>(t)] = grid.extent[t];
  }
  for (; grid.length < kCodeBits; ++grid.length) {
    int longest = -1;
    for (int t = 0; t < dim; ++t)
      if (grid.bits[t] < kMostCellBits && sides[static_cast<std::size_t>(t)] > 0 &&
          (longest < 0 || sides[static_cast<std::size_t>(t)] > sides[static_cast<std::size_t>(longest)]))
        longest = t;
    if (longest < 0) break;
    sides[static_cast<std::size_t>(longest)] /= 2;
    grid.axis[grid.length] = static_cast<std::uint8_t>(longest);
    grid.shift[grid.length] = grid.bits[longest]++;  // counted from the top for now
  }
  for (int i = 0; i < grid.length; ++i)
    grid.shift[i] = static_cast<std::uint8_t>(grid.bits[grid.axis[i]] - 1 - grid.shift[i]);
  return grid;
}

}  // namespace libknng::cuda
