// Operands of the fused engine's filter (backend/cpu/filter_tile.h), with what its bound needs to know of each point.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "prepare/operand_panels.h"
#include "refine/bound.h"

namespace libknng {

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
