#include "prepare/filter_operands.h"

#include <limits>

#include "prepare/filter_panel.h"

namespace libknng {

std::int64_t FilterOperands::bytes(std::int64_t rows, std::int64_t dim) {
  return checked_add(operand_panel_bytes(rows, dim),
                     4 * round_up(rows, kFilterPanel) + rows * static_cast<std::int64_t>(sizeof(OperandNorms)), "rows");
}

FilterOperands::FilterOperands(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame,
                               const KeyBound& bound, int threads, Budget* budget, Monitor& monitor)
    : halves_(round_up(rows.rows(), kFilterPanel), std::numeric_limits<float>::infinity(), budget),
      norms_(rows.rows(), budget) {
  panels_ =
      operand_panels(metric, rows, frame, threads, budget, monitor, [&](std::int64_t i, const RoundingSums& sums) {
        norms_[i] = operand_norms(sums.square, sums.residual, sums.row, rows.dim());
        if (!rows.directionless(i)) halves_[i] = bound.half(norms_[i]);
      });
}

}  // namespace libknng
