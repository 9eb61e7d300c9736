// Points of 8-bit integers, or of bools, as the fused engine multiplies them: exactly. The product unit takes unsigned
// times signed bytes, so a row is stored twice, as x - low (0 to 255) and as x - middle (-128 to 127), and what the
// shifts add to a product is one number a point. Panels as in filter_panel.h, but with four coordinates together: [i /
// 48][t / 4][i mod 48][t mod 4].
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "core/division.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "prepare/canonical_rows.h"

namespace libknng {

class IntegerOperands {
 public:
  // Products, norms and their sums fit 31 bits up to this dimension: at most 2 x 65,280 a coordinate.
  static constexpr std::int64_t kLargestDim = 16384;

  // dtype: KNNG_U8, KNNG_I8 or KNNG_BOOL.
  IntegerOperands(const Metric& metric, const CanonicalRows& rows, std::int32_t dtype, ThreadTeam& team, Budget* budget,
                  Monitor& monitor);

  static std::int64_t bytes(std::int64_t rows, std::int64_t dim);
  static constexpr std::int64_t groups(std::int64_t dim) { return ceil_div(dim, 4); }

  const std::uint8_t* unsigned_panels() const noexcept { return unsigned_.data(); }
  const std::int8_t* signed_panels() const noexcept { return signed_.data(); }
  // The key of (i, j) is row_part(i) + column_part(j) - factor x product, all integers; factor 2, for inner products 1.
  const std::int32_t* row_parts() const noexcept { return row_parts_.data(); }
  const std::int32_t* column_parts() const noexcept { return column_parts_.data(); }

 private:
  Buffer<std::uint8_t> unsigned_;
  Buffer<std::int8_t> signed_;
  Buffer<std::int32_t> row_parts_, column_parts_;
};

}  // namespace libknng
