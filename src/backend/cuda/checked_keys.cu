#include "backend/cuda/checked_keys.cuh"

#include <algorithm>
#include <vector>

namespace libknng::cuda {
namespace {

// An operand of so many values is enough to keep the device busy.
constexpr std::int64_t kOperandValues = std::int64_t{4} << 20;
constexpr std::int64_t kFewest = 64;  // rows of a tile of keys

std::int64_t rows_together(const knng_backend_problem& p) { return std::min(p.checked_count, kFewest); }
std::int64_t columns_together(const knng_backend_problem& p) {
  const std::int64_t most = std::max(p.tile_cols, kFewest);
  return std::clamp(kOperandValues / p.columns.dim, kFewest, most);
}

std::vector<std::int64_t> rows_in_view(const knng_backend_problem& p) {
  std::vector<std::int64_t> rows(p.checked, p.checked + p.checked_count);
  if (p.square)
    for (std::int64_t& row : rows) row %= p.tile_cols;
  return rows;
}

}  // namespace

CheckedKeys::CheckedKeys(const knng_backend_problem& p, Home& home)
    : checked_(p.checked, static_cast<std::size_t>(p.checked_count)),
      columns_(p.columns.count),
      rows_together_(rows_together(p)),
      columns_together_(columns_together(p)),
      in_view_(uploaded<std::int64_t>(rows_in_view(p), home)),
      keys_(p.checked_count * p.columns.count, home),
      row_operand_(direct_operand_bytes(rows_together_, p.columns.dim), home),
      column_operand_(direct_operand_bytes(columns_together_, p.columns.dim), home) {}

std::int64_t CheckedKeys::bytes(const knng_backend_problem& p) {
  if (p.checked_count == 0) return 0;
  return array_bytes(8 * p.checked_count) + array_bytes(8 * p.checked_count * p.columns.count) +
         array_bytes(direct_operand_bytes(rows_together(p), p.columns.dim)) +
         array_bytes(direct_operand_bytes(columns_together(p), p.columns.dim));
}

void CheckedKeys::evaluate(const Metric& metric, const CanonicalView& rows, std::int64_t first_row,
                           std::int64_t row_count, const CanonicalView& columns, std::int64_t at,
                           std::int64_t first_column, std::int64_t column_count, const DirectParts& parts,
                           cudaStream_t stream) {
  const auto begin = std::lower_bound(checked_.begin(), checked_.end(), first_row);
  const auto end = std::lower_bound(begin, checked_.end(), first_row + row_count);
  const std::int64_t from = begin - checked_.begin(), to = end - checked_.begin();
  for (std::int64_t c = 0; from < to && c < column_count; c += columns_together_) {
    const DirectOperand of_columns = make_direct_operand(
        columns, nullptr, at + c, std::min(columns_together_, column_count - c), column_operand_.data(), stream);
    for (std::int64_t r = from; r < to; r += rows_together_) {
      const DirectOperand of_rows = make_direct_operand(rows, in_view_.data() + r, 0, std::min(rows_together_, to - r),
                                                        row_operand_.data(), stream);
      direct_tile(metric, of_rows, of_columns, keys_.data() + r * columns_ + first_column + c, columns_, parts, stream);
    }
  }
}

}  // namespace libknng::cuda
