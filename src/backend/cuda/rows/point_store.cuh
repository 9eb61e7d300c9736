// The points of a problem on one device, of both sides: all of them, or blocks of the columns as they come. Knows
// nothing of pairs, nor of what else is made of points.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/rows/paged_points.cuh"
#include "backend/cuda/rows/points.cuh"
#include "backend/cuda/rows/slots.cuh"
#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

// Consecutive points on the device: `at` is the first one's row in the view.
struct BlockView {
  CanonicalView view;
  std::int64_t at;
};

class PointStore {
 public:
  // Throws RefusedRow. `between` is that of prepare_in_parts().
  PointStore(const knng_backend_problem& problem, const Metric& metric, Staging& staging, DeviceContext& context,
             const std::function<void()>& between);

  // One of the two holds the columns.
  bool is_paged() const noexcept { return paged_.has_value(); }
  const Points& resident() const { return *columns_; }
  PagedPoints& paged() { return *paged_; }
  // Null: the rows are the columns.
  const Points* queries() const noexcept { return queries_ ? &*queries_ : nullptr; }

  // All points; where they come in blocks, their shape and constants.
  CanonicalView columns() const { return paged_ ? paged_->shape() : columns_->view(); }
  CanonicalView rows() const { return queries_ ? queries_->view() : columns(); }

  // Columns in a random order of their own. Returns at which place of it each run of RowOrder::kRun columns is, if that
  // is wanted.
  std::vector<std::int64_t> shuffle(bool wants_places);
  static std::int64_t shuffle_bytes(std::int64_t count);
  // Points of a graph in another order: `order` has the point at each place. Asynchronous.
  void order_by(DeviceArray<std::int64_t> order);
  // In an order that has nothing to do with how they are stored (prepare/scattered_order.h). Asynchronous.
  void scatter();
  bool are_scattered() const noexcept { return scattered_; }
  // In the order of another device's.
  void order_as(const PointStore& other);
  void order_as_stored() {
    order_ = {};
    places_ = {};
    scattered_ = false;
  }
  static std::int64_t order_bytes(std::int64_t count);
  // The place of each point of a graph; null: points are not in another order.
  const std::uint32_t* places() const { return places_.size() > 0 ? places_.data() : nullptr; }
  // Rows of columns() in the order in which columns are compared, from a place on; null: in their own.
  const std::int64_t* order_of_columns(std::int64_t first) const {
    return order_.size() > 0 ? order_.data() + first : nullptr;
  }

  // Where columns come in blocks: room for so many of them as they are stored, until it is given back.
  void hold(std::int64_t blocks) { stored_.emplace(blocks, paged_->block_bytes(), paged_->loader(), context_); }
  void release() { stored_.reset(); }
  // Blocks that are there at a time; 0: none as they are stored.
  std::int64_t held() const noexcept { return stored_ ? stored_->count() : 0; }

  // For what is put on the stream until used().
  BlockView view_of_columns(std::int64_t first);
  BlockView view_of_rows(std::int64_t first) {
    return queries_ ? BlockView{queries_->view(), first} : view_of_columns(first);
  }
  void used() {
    if (stored_) stored_->used();
  }

  // The first `most` columns without direction, ascending; of those that come in blocks, when all have come.
  std::vector<std::uint32_t> first_directionless(std::int64_t most) {
    return paged_ ? paged_->first_directionless(most) : columns_->first_directionless(most, context_);
  }

 private:
  DeviceContext& context_;
  std::optional<const Points> columns_;  // or
  std::optional<PagedPoints> paged_;
  std::optional<const Points> queries_;
  DeviceArray<std::int64_t> order_;
  DeviceArray<std::uint32_t> places_;
  bool scattered_ = false;
  std::optional<Slots> stored_;
};

}  // namespace libknng::cuda
