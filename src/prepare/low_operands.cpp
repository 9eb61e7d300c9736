#include "prepare/low_operands.h"

#include <limits>

#include "core/division.h"
#include "prepare/filter_panel.h"

namespace libknng {

std::int64_t LowOperands::bytes(std::int64_t rows, std::int64_t dim) {
  return checked_add(operand_panel_bytes(rows, dim), 4 * round_up(rows, kFilterPanel) + 4 * rows, "rows");
}

LowOperands::LowOperands(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame,
                         const LowBound& bound, ThreadTeam& team, Budget* budget, Monitor& monitor)
    : terms_(round_up(rows.rows(), kFilterPanel), std::numeric_limits<float>::infinity(), budget),
      bounds_(rows.rows(), budget) {
  panels_ = operand_panels(metric, rows, frame, team, budget, monitor, [&](std::int64_t i, const RoundingSums& sums) {
    const OperandSums point{sums.row, sums.residual, 0};
    bounds_[i] = round_up(bound.bound(point));
    if (!rows.directionless(i)) terms_[i] = round_down(bound.term(point, bounds_[i]));
  });
}

}  // namespace libknng
