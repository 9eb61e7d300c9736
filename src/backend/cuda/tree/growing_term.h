// Metrics and dimensions in which rows can be answered from a tree of boxes. Host code alone.
#pragma once

#include <cstdint>

#include "metric/metric.h"

namespace libknng::cuda {

// Coordinates of points in a tree, at most.
inline constexpr int kShortDim = 16;

// Terms whose key of the gaps between two boxes is proved to bound the keys of their points. Minkowski's pow is not
// proved monotone, the quotients are not monotone, and products have nothing to do with gaps.
constexpr bool grows_with_gaps(Term term) noexcept {
  return term == Term::squared_difference || term == Term::absolute_difference || term == Term::largest_difference;
}

// Whether a metric's rows of that dimension can be answered so.
constexpr bool answers_rows(Term term, std::int64_t dim) noexcept { return grows_with_gaps(term) && dim <= kShortDim; }

}  // namespace libknng::cuda
