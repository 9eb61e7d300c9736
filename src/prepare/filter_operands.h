// Points as the fused engine's filter multiplies them: canonical rows minus a centre, scaled by a power of two, rounded
// to single precision, in panels (backend/cpu/filter_tile.h), with what the bound needs to know of each rounding.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "core/monitor.h"
#include "prepare/canonical_rows.h"
#include "refine/bound.h"

namespace libknng {

// What both sides of a product have in common. Any centre is right; one amid the points makes small operands.
struct FilterFrame {
  Buffer<double> centre;  // dim values
  int exponent = 0;       // operands are scaled by 2^exponent

  // The median of some rows (0 for inner products, which do not survive a shift), and the scale at which the largest
  // difference from it, on either side, is about 1.
  static FilterFrame of(const Metric& metric, const CanonicalRows& rows, const CanonicalRows& queries, int threads,
                        Budget* budget, Monitor& monitor);
};

class FilterOperands {
 public:
  // Runs on the calling thread's OpenMP team.
  FilterOperands(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame, const KeyBound& bound,
                 int threads, Budget* budget, Monitor& monitor);

  static std::int64_t bytes(std::int64_t rows, std::int64_t dim);

  const float* panels() const noexcept { return panels_.data(); }
  // KeyBound::half() of each point, +inf for points without direction and past the last: no pair with them survives.
  const float* halves() const noexcept { return halves_.data(); }
  const OperandNorms& norms(std::int64_t point) const noexcept { return norms_[point]; }

 private:
  Buffer<float> panels_;
  Buffer<float> halves_;
  Buffer<OperandNorms> norms_;
};

}  // namespace libknng
