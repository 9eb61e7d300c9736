#include "prepare/filter_operands.h"
#include "core/division.h"

#include <bit>
#include <limits>

namespace libknng {

std::int64_t FilterOperands::bytes(std::int64_t rows, std::int64_t dim, OperandType type) {
  const std::int64_t beside = 4 * round_up(rows, kFilterPanel) + rows * static_cast<std::int64_t>(sizeof(OperandNorms));
  if (type == OperandType::fp32) return checked_add(operand_panel_bytes(rows, dim), beside, "rows");
  const std::int64_t twice = checked_add(2 * round_up(rows, kFilterPanel), kBf16RowsBehind, "rows");
  return checked_add(checked_mul(twice, 2 * bf16_depth(dim), "rows"), beside + 8 * dim, "rows");
}

FilterOperands::FilterOperands(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame,
                               const KeyBound& bound, OperandType type, ThreadTeam& team, Budget* budget,
                               Monitor& monitor)
    : halves_(round_up(rows.rows(), kFilterPanel), std::numeric_limits<float>::infinity(), budget),
      norms_(rows.rows(), budget) {
  const std::int64_t d = rows.dim();
  const auto note = [&](std::int64_t i, const RoundingSums& sums) {
    norms_[i] = operand_norms(sums.square, sums.residual, sums.row, d);
    if (!rows.directionless(i)) halves_[i] = bound.half(norms_[i]);
  };
  if (type == OperandType::fp32) {
    panels_ = operand_panels(metric, rows, frame, team, budget, monitor, note);
    return;
  }
  const std::int64_t padded = round_up(rows.rows(), kFilterPanel), depth = bf16_depth(d);
  pairs_ = Buffer<std::uint16_t>(checked_mul(padded, depth, "rows"), std::uint16_t{0}, budget);
  rows_ = Buffer<std::uint16_t>(checked_mul(padded + kBf16RowsBehind, depth, "rows"), std::uint16_t{0}, budget);
  round_points(metric, rows, frame, type, team, budget, monitor,
               [&](std::int64_t i, const double* a, const RoundingSums& sums) {
                 write_bf16(i, a, d);
                 note(i, sums);
               });
}

void FilterOperands::write_bf16(std::int64_t point, const double* a, std::int64_t dim) noexcept {
  const std::int64_t depth = bf16_depth(dim);
  std::uint16_t* row = rows_.data() + point * depth;
  std::uint16_t* pairs = pairs_.data() + point / kFilterPanel * kFilterPanel * depth + 2 * (point % kFilterPanel);
  for (std::int64_t t = 0; t < dim; ++t) {
    row[t] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(a[t])) >> 16);
    pairs[t / 2 * 2 * kFilterPanel + t % 2] = row[t];
  }
}

}  // namespace libknng
