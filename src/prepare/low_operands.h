// Operands of the tiled engine (backend/cpu/low_products.h), with what of each point goes into `low`
// (refine/low_bound.h).
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "prepare/operand_panels.h"
#include "refine/low_bound.h"

namespace libknng {

class LowOperands {
 public:
  LowOperands(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame, const LowBound& bound,
              ThreadTeam& team, Budget* budget, Monitor& monitor);

  static std::int64_t bytes(std::int64_t rows, std::int64_t dim);

  // How far fp32 takes a point, for LowBound: 2^-24 in each coordinate, and the rounding of x.
  static constexpr LowBound::Rounding kRounding = {LowBound::kSmallestRatio * (1 + 0x1p-20)};

  const float* panels() const noexcept { return panels_.data(); }
  // t, rounded down; +inf for points without direction and past the last, so that no list that is full wants them.
  const float* terms() const noexcept { return terms_.data(); }
  // b, rounded up.
  const float* bounds() const noexcept { return bounds_.data(); }

 private:
  Buffer<float> panels_;
  Buffer<float> terms_;
  Buffer<float> bounds_;
};

}  // namespace libknng
