#include "prepare/integer_operands.h"

#include <cstring>

#include "core/division.h"
#include "prepare/filter_panel.h"

namespace libknng {

std::int64_t IntegerOperands::bytes(std::int64_t rows, std::int64_t dim) {
  const std::int64_t padded = round_up(rows, kFilterPanel);
  return checked_mul(padded, 2 * 4 * groups(dim) + 8, "rows");
}

IntegerOperands::IntegerOperands(const Metric& metric, const CanonicalRows& rows, std::int32_t dtype, ThreadTeam& team,
                                 Budget* budget, Monitor& monitor) {
  const std::int64_t n = rows.rows(), d = rows.dim(), padded = round_up(n, kFilterPanel), width = 4 * groups(d);
  unsigned_ = Buffer<std::uint8_t>(checked_mul(padded, width, "rows"), budget);
  signed_ = Buffer<std::int8_t>(checked_mul(padded, width, "rows"), budget);
  row_parts_ = Buffer<std::int32_t>(padded, 0, budget);
  column_parts_ = Buffer<std::int32_t>(padded, 0, budget);
  Buffer<double> scratch(d * team.size(), budget);
  const std::int32_t low = dtype == KNNG_I8 ? -128 : 0, middle = low + 128;
  const bool product = metric.term == Term::product;
  monitor.stage("operands", static_cast<double>(n));
  team.for_each(monitor, n, kFilterPanel, [&](int member, std::int64_t first, std::int64_t end) {
    double* x = scratch.data() + member * d;
    std::uint8_t* u = unsigned_.data() + first * width;
    std::int8_t* s = signed_.data() + first * width;
    // Zeros past the last coordinate and the last point: they add nothing to a product.
    std::memset(u, 0, static_cast<std::size_t>(kFilterPanel * width));
    std::memset(s, 0, static_cast<std::size_t>(kFilterPanel * width));
    for (std::int64_t i = first; i < end; ++i) {
      rows.load(i, x);
      std::int32_t norm = 0, unsigned_sum = 0, signed_sum = 0;
      for (std::int64_t t = 0; t < d; ++t) {
        const auto value = static_cast<std::int32_t>(x[t]);
        const std::int64_t at = (t / 4 * kFilterPanel + i - first) * 4 + t % 4;
        u[at] = static_cast<std::uint8_t>(value - low);
        s[at] = static_cast<std::int8_t>(value - middle);
        norm += value * value;
        unsigned_sum += value - low;
        signed_sum += value - middle;
      }
      // x.y = (x - low).(y - middle) + middle sum (x - low) + low sum (y - middle) + d low middle; the last is 0.
      const std::int32_t of_row = middle * unsigned_sum, of_column = low * signed_sum;
      row_parts_[i] = product ? -of_row : norm - 2 * of_row;
      column_parts_[i] = product ? -of_column : norm - 2 * of_column;
    }
  });
}

}  // namespace libknng
