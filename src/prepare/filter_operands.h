// Operands of the fused engine's filter (backend/cpu/filter_tile.h), with what its bound needs to know of each point.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "prepare/filter_panel.h"
#include "prepare/operand_panels.h"
#include "refine/bound.h"

namespace libknng {

class FilterOperands {
 public:
  FilterOperands(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame, const KeyBound& bound,
                 OperandType type, ThreadTeam& team, Budget* budget, Monitor& monitor);

  static std::int64_t bytes(std::int64_t rows, std::int64_t dim, OperandType type);
  // Steps of four bytes of a point in panels().
  static std::int64_t depth(std::int64_t dim, OperandType type) {
    return type == OperandType::bf16 ? bf16_depth(dim) / 2 : dim;
  }

  // Panels of float, or of pairs of bfloat16 (backend/cpu/bf16_tile.h).
  const void* panels() const noexcept {
    return pairs_.empty() ? panels_.data() : static_cast<const void*>(pairs_.data());
  }
  // The same points on the other side of a product: the panels, or rows of bfloat16.
  const void* rows() const noexcept { return rows_.empty() ? panels() : rows_.data(); }
  // KeyBound::half() of each point, +inf for points without direction and past the last: no pair with them survives.
  const float* halves() const noexcept { return halves_.data(); }
  const OperandNorms& norms(std::int64_t point) const noexcept { return norms_[point]; }

 private:
  void write_bf16(std::int64_t point, const double* a, std::int64_t dim) noexcept;

  Buffer<float> panels_;         // fp32
  Buffer<std::uint16_t> pairs_;  // bf16: panels, and rows
  Buffer<std::uint16_t> rows_;
  Buffer<float> halves_;
  Buffer<OperandNorms> norms_;
};

}  // namespace libknng
