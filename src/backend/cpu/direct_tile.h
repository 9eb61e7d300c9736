// The distance tile of the direct engine: canonical keys of all pairs of a strip of packed rows with a block of packed
// columns, of which only those that may belong to a list come out. Compiled once per SIMD target; every target gives
// the same bits. Knows nothing of ids, lists or threads.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/side_lists.h"
#include "backend/cpu/tree_search.h"
#include "metric/metric.h"

namespace libknng {

// A pair whose key is not above the cut-off of its row or of its column; places within the strip and the block.
struct Survivor {
  double key;
  std::int32_t row, column;
};

// Arrays per row and per column have kPanelRows entries for every panel.
struct DirectStrip {
  const double* rows;          // packed panels
  const double* columns;       // packed panels
  std::int64_t row_count = 0;  // rows of the strip
  std::int64_t column_count = 0;
  std::int64_t dim = 0;
  double p = 0, scale = 1;    // of the metric
  const double* row_cutoffs;  // -inf for a side that takes nothing
  const double* column_cutoffs;
  const double* row_directionless;  // 1 for a row without direction, else 0; nullptr: all rows and columns have one
  const double* column_directionless;
  std::int64_t diagonal = INT64_MIN;  // pairs with column <= row + diagonal are left out
  Survivor* survivors;                // room for row_count x column_count
};

// Returns the number of survivors.
using DirectTileFunction = std::int64_t(const DirectStrip& strip);
// The keys of all pairs of a strip, by row and by column: those of a row, and of a column, lie behind each other, whole
// panels of them. by_row may be null. Cut-offs and survivors are not looked at. Places without a pair get NaN as far as
// SelectFunction looks at them: of panels without one only the first of each panel of columns is written.
using AllKeysFunction = void(const DirectStrip& strip, double* by_row, std::int64_t row_stride, double* by_column,
                             std::int64_t column_stride);
// Offers all keys to lists, from one side.
using SelectFunction = void(const ListedKeys& from, InsertFunction* insert, SideLists& lists);
// The canonical key of one pair of rows, dim values each.
using PairFunction = double(const double* u, const double* v, std::int64_t dim, double p, double scale);
// The canonical keys of a row with `count` others, in any number: what stays of the row in registers serves several.
template <class Value>
using RowKeysFunction = void(const Value* u, const Value* const* others, std::int64_t count, std::int64_t dim,
                             double scale, double* keys);
// Puts a row, canonical or stored as such, at place r of a panel (packed.h).
template <class Value>
using PackFunction = void(const Value* u, std::int64_t dim, std::int64_t r, double* panel);

struct DirectTile {
  const char* target;
  int lanes;  // N of packed.h
  PackFunction<double>* pack;
  PackFunction<float>* pack_floats;
  DirectTileFunction* run[kTerms];  // by Term
  AllKeysFunction* keys[kTerms];    // by Term
  SelectFunction* select;
  PairFunction* pair[kTerms];  // by Term
  // By Term, for terms with a product form; else nullptr. From canonical rows, and from rows that are stored as such.
  RowKeysFunction<double>* row_keys[kTerms];
  RowKeysFunction<float>* float_row_keys[kTerms];
};

// Those compiled that run here, best first; never empty.
std::span<const DirectTile* const> direct_tiles();

}  // namespace libknng
