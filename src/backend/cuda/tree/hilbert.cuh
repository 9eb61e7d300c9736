// Hilbert codes: points whose codes are near lie near each other, as cells of successive codes touch (C. H. Hamilton,
// A. Rau-Chaplin, "Compact Hilbert Indices", Information Processing Letters 105, 2008). Every bit of a code halves the
// longest side of its cell, so that long boxes of data are first cut across: then the curve is one of the long sides
// alone, and cells whose other sides are as long have curves of their own. Order decides how fast points are found,
// never which.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/tree/short_key.cuh"
#include "core/host_device.h"
#include "metric/ops.h"

namespace libknng::cuda {

inline constexpr int kCodeBits = 63;
inline constexpr int kMostCellBits = 31;  // of one coordinate
// Sorts behind every code.
inline constexpr std::uint64_t kNoCode = ~std::uint64_t{0};

struct HilbertGrid {
  int dim = 0;
  int levels = 0;  // most bits of a coordinate
  std::uint8_t bits[kShortDim] = {};
  std::uint8_t axes[kShortDim] = {};  // coordinates, those with most bits first
  double low[kShortDim] = {}, extent[kShortDim] = {};
};

// Which of its 2^bits cells a coordinate lies in; what is outside counts to the outermost. Never falls as x grows:
// subtraction, division and multiplication round monotonely.
KNNG_HD inline std::uint32_t cell_of(const HilbertGrid& grid, int t, double x) {
  const std::uint32_t cells = std::uint32_t{1} << grid.bits[t];
  if (cells == 1) return 0;
  const double share = ScalarOps::div(ScalarOps::sub(x, grid.low[t]), grid.extent[t]);
  if (!(share > 0)) return 0;
  if (share >= 1) return cells - 1;
  return static_cast<std::uint32_t>(ScalarOps::mul(share, static_cast<double>(cells)));
}

// ---- The curve through the 2^dim halves of a cell: dim coordinates are the bits of a number, which goes in Gray code

KNNG_HD inline std::uint32_t rotated_left(std::uint32_t x, int by, int dim) {
  return (x << by | x >> (dim - by)) & ((std::uint32_t{1} << dim) - 1);
}
KNNG_HD inline std::uint32_t gray_code(std::uint32_t i) { return i ^ i >> 1; }
KNNG_HD inline std::uint32_t gray_place(std::uint32_t code) {
  for (int h = 1; h < kShortDim; h *= 2) code ^= code >> h;
  return code;
}
// Within the half at that place of the curve: where the curve begins, and the coordinate along which it goes on.
KNNG_HD inline std::uint32_t entry_of(std::uint32_t place) { return place == 0 ? 0 : gray_code((place - 1) & ~1u); }
KNNG_HD inline int direction_of(std::uint32_t place, int dim) {
  if (place == 0) return 0;
  int ones = 0;
  for (std::uint32_t odd = place % 2 == 0 ? place - 1 : place; odd % 2 == 1; odd /= 2) ++ones;
  return ones % dim;
}

// Of cells[t] < 2^bits[t].
KNNG_HD inline std::uint64_t hilbert_code(const HilbertGrid& grid, const std::uint32_t (&cells)[kShortDim]) {
  std::uint64_t code = 0;
  std::uint32_t entry = 0;
  int dim = 0, turn = 1;  // halved so far; and how far the curve is turned, up to dim
  for (int level = grid.levels - 1; level >= 0; --level) {
    int halved = dim;
    while (halved < grid.dim && grid.bits[grid.axes[halved]] > level) ++halved;
    if (halved > dim) {
      dim = halved;
      entry = 0;
      turn = 1;
    }
    std::uint32_t half = 0;
    for (int t = 0; t < dim; ++t) half |= (cells[grid.axes[t]] >> level & 1) << t;
    const std::uint32_t place = gray_place(rotated_left(half ^ entry, dim - turn, dim));
    code = code << dim | place;
    entry ^= rotated_left(entry_of(place), turn, dim);
    turn = (turn + direction_of(place, dim)) % dim + 1;
  }
  return code;
}
KNNG_HD inline std::uint64_t hilbert_code(const HilbertGrid& grid, const double* u) {
  std::uint32_t cells[kShortDim] = {};
  for (int t = 0; t < grid.dim; ++t) cells[t] = cell_of(grid, t, u[t]);
  return hilbert_code(grid, cells);
}

// A grid whose coordinates have so many bits.
inline HilbertGrid grid_of_bits(std::span<const int> bits) {
  HilbertGrid grid;
  grid.dim = static_cast<int>(bits.size());
  for (int t = 0; t < grid.dim; ++t) {
    const int count = bits[static_cast<std::size_t>(t)];
    grid.levels = std::max(grid.levels, count);
    grid.bits[t] = static_cast<std::uint8_t>(count);
    grid.axes[t] = static_cast<std::uint8_t>(t);
  }
  std::stable_sort(grid.axes, grid.axes + grid.dim, [&](int a, int b) { return grid.bits[a] > grid.bits[b]; });
  return grid;
}

// A grid for points of which `sample` (rows of dim coordinates) are some. It covers the middle 98 of 100 and a quarter
// more on each side, so that a far outlier does not take all cells.
inline HilbertGrid make_grid(std::span<const double> sample, int dim) {
  const auto d = static_cast<std::size_t>(dim);
  const std::size_t rows = sample.size() / d;
  std::vector<double> values(rows), lows(d), extents(d);
  for (std::size_t t = 0; t < d && rows > 0; ++t) {
    for (std::size_t i = 0; i < rows; ++i) values[i] = sample[i * d + t];
    std::sort(values.begin(), values.end());
    double low = values[rows / 100], high = values[rows - 1 - rows / 100];
    if (low == high) {
      low = values.front();
      high = values.back();
    }
    const double extent = high - low;
    lows[t] = low - extent / 4;
    extents[t] = std::min(1.5 * extent, DBL_MAX);
  }
  std::vector<int> bits(d);
  std::vector<double> sides = extents;
  for (int length = 0; length < kCodeBits; ++length) {
    std::size_t longest = d;
    for (std::size_t t = 0; t < d; ++t)
      if (sides[t] > 0 && (longest == d || sides[t] > sides[longest])) longest = t;
    if (longest == d || bits[longest] == kMostCellBits) break;
    sides[longest] /= 2;
    ++bits[longest];
  }
  HilbertGrid grid = grid_of_bits(bits);
  std::copy(lows.begin(), lows.end(), grid.low);
  std::copy(extents.begin(), extents.end(), grid.extent);
  return grid;
}

}  // namespace libknng::cuda
