// The nearest columns of the rows of a leaf, found by their canonical keys and nothing else: parts of the tree are left
// out only where no key between boxes can belong to a list (docs/internals/low-dimensions.md). Compiled once per SIMD
// target; every target gives the same lists. Knows nothing of threads.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/leaf_lists.h"
#include "backend/cpu/point_tree.h"
#include "core/admission.h"
#include "core/monitor.h"
#include "graph/stats.h"
#include "metric/elementary.h"
#include "metric/metric.h"

namespace libknng {

// Rows and columns have the same dimension.
struct TreeSearch {
  TreeView rows, columns;
  double p = 0, scale = 1;  // of the metric
  Admission admission;
  const Monitor* monitor = nullptr;
};

// Makes the lists those of the rows of a leaf, or leaves them partial if it is stopped. Returns how many keys it
// evaluated: of each row with every place of the leaves that it meets.
using TreeSearchFunction = std::int64_t(const TreeSearch& search, std::int64_t row_leaf, LeafLists& lists);
static_assert(kTreeLeaf <= kMostInGroup);
// A key, or what no key of points of two boxes is below: of rows of D coordinates.
using ShortKeyFunction = double(const double* u, const double* v, double p, double scale);
using BoxKeyFunction = double(const double* low, const double* high, const double* other_low, const double* other_high,
                              double p, double scale);

struct TreeKernels {
  TreeSearchFunction* search = nullptr;  // null: boxes have no bound under this term
  ShortKeyFunction* key = nullptr;
  BoxKeyFunction* bound = nullptr;
};

// Offers `count` points to short lists of as many rows as a vector has lanes, whose first position is at `keys` and
// `ids`: the points' ids, and of each its keys with all of these rows; a NaN is no pair.
using InsertFunction = void(const double* pair_keys, const double* pair_ids, std::int64_t count, double* keys,
                            double* ids);

struct TreeTarget {
  const char* target;
  int lanes;
  // For lists of so many positions, one of kShortLists. by_id: equal keys are ordered by id, else as they came.
  InsertFunction* (*insert)(int positions, bool by_id);
  TreeKernels (*kernels)(Term term, std::int64_t dim);  // dim <= kMostTreeDim
};

// Those compiled that run here, best first; never empty.
std::span<const TreeTarget* const> tree_targets();

// No pow of a difference is below kLeastPower times that of a gap, less kLeastPowerFloor (low-dimensions.md,
// "Minkowski").
inline constexpr double kLeastPower = 1 - 4 * kPowError, kLeastPowerFloor = 0x1p-1072;

// Whether no pair's key is below that of the gaps between boxes.
constexpr bool grows_with_differences(Term term) noexcept {
  return term == Term::squared_difference || term == Term::absolute_difference || term == Term::largest_difference ||
         term == Term::power_difference;
}

}  // namespace libknng
