// The points of a data set as their metric's canonical rows u: what does not depend on the pair is found once (norms,
// means, ranks), u itself is made when a block needs it, so that no fp64 copy of the data is held. They may come in an
// order of their own: a row is meant by its position in it, unless it says id.
#pragma once

#include <cstdint>
#include <span>

#include "core/buffer.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "dataset/dataset.h"
#include "metric/canonical.h"
#include "prepare/row_order.h"

namespace libknng {

// Throws KNNG_ERR_DATA: what the metric cannot take in this row. `what` names the rows.
[[noreturn]] void refuse_row(const Dataset& data, const Metric& metric, std::int64_t row, const char* what);
// x: the row's values, row: its number.
[[noreturn]] void refuse_row(std::span<const double> x, const Metric& metric, std::int64_t row, const char* what);

class CanonicalRows {
 public:
  // Checks the data against the metric: KNNG_ERR_DATA names row and column. `what` names the rows in messages.
  CanonicalRows(const Dataset& data, const Metric& metric, ThreadTeam& team, Budget* budget, Monitor& monitor,
                const char* what, RowOrder order = RowOrder());

  // Bytes held for a point, beside the order.
  static std::int64_t bytes_per_row(const Metric& metric, std::int64_t dim);

  std::int64_t rows() const noexcept { return data_.rows(); }
  std::int64_t dim() const noexcept { return data_.dim(); }
  // Type in which the rows are worked with.
  std::int32_t dtype() const noexcept { return data_.work_dtype(); }
  // The row's number in the data set.
  std::int64_t id(std::int64_t row) const noexcept { return order_.id(row); }
  // u of a row: dim() values.
  void load(std::int64_t row, double* out) const noexcept;
  // u where it lies, if the row as stored is u in single precision; else nullptr.
  const float* floats(std::int64_t row) const noexcept {
    return metric_.transform == Transform::identity ? data_.floats(id(row)) : nullptr;
  }
  // Whether rows without a direction exist, and which they are.
  bool any_directionless() const noexcept { return any_directionless_; }
  bool directionless(std::int64_t row) const noexcept { return any_directionless_ && constants_[row].factor == 0; }

 private:
  const Dataset& data_;
  Metric metric_;
  RowOrder order_;
  Buffer<RowConstants> constants_;    // empty if the transform has none
  Buffer<std::int16_t> short_ranks_;  // rank_unit: dim() a row, in the smaller type that holds them
  Buffer<std::int32_t> long_ranks_;
  bool any_directionless_ = false;
};

}  // namespace libknng
