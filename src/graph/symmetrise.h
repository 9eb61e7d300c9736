// Symmetric matrices from one-sided lists: pairs that either or both of their rows list, and how two values become one.
// Knows nothing of metrics.
#pragma once

#include "graph/sparse.h"

namespace libknng {

enum class Pairs { any, mutual };
enum class Combine { mean, max, min, product, probabilistic };

// Self entries are left out. Throws KNNG_ERR_RANGE if a combined value is not a number or too large for the type, and
// KNNG_ERR_DATA if `probabilistic` is to combine values outside 0 to 1.
// Linear in the entries but for putting each list in order. g must be square.
Sparse symmetrise(const Graph& g, Pairs pairs, Combine combine, const Work& work);

}  // namespace libknng
