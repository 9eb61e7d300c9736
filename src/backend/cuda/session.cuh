// A problem on one device: points and operands resident, a list of candidates for every row, tiles that feed them,
// refinement; or, in few dimensions, a tree of the points that rows are answered from. The calls of the seam, without
// its C. Knows nothing of other devices but how to take their lists.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/cuda/memory.cuh"
#include "backend/cuda/operands.cuh"
#include "backend/cuda/point_tree.cuh"
#include "backend/cuda/points.cuh"
#include "backend/cuda/product.cuh"
#include "backend/cuda/select/select.cuh"
#include "backend/cuda/staging.cuh"
#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

Metric metric_of(const knng_backend_metric& m) noexcept;

class Session {
 public:
  // The device is current, as for every call. Throws RefusedRow.
  Session(int device, const knng_backend_problem& problem);
  static std::int64_t bytes(const knng_backend_problem& problem);
  static constexpr std::int64_t kHostBytes = Staging::kHostBytes;

  int device() const noexcept { return device_; }
  std::int64_t peak_bytes() const noexcept { return home_.pool.peak(); }

  void begin(int rung);
  void tile(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns);
  void settle() { home_.stream.wait(); }
  void absorb(const Session& from, std::int64_t first, std::int64_t count);
  void refine(std::int64_t first, std::int64_t count, knng_backend_result& result);
  void redo(const std::int64_t* rows, std::int64_t count, knng_backend_result& result);
  void answer(std::int64_t first, std::int64_t count, knng_backend_result& result);

 private:
  void make_lists();
  const Points& rows() const noexcept { return queries_ ? *queries_ : columns_; }
  const Operands& row_operands() const noexcept { return query_operands_ ? *query_operands_ : *operands_; }
  void fill_tile(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns);
  void join(const SelectJob& found, std::int64_t first_list);

  const knng_backend_problem& problem_;
  const Metric metric_;
  const Selector& selector_;
  int device_, compute_major_ = 0;
  Home home_;
  Staging staging_;
  const Points columns_;
  std::optional<const Points> queries_;  // none: the columns
  std::optional<const PointTree> tree_;  // of the columns, if rows are answered straight away: then no lists and tiles
  std::optional<Products> products_;     // none: engine=direct
  std::optional<Frame> frame_;
  int rung_ = 0;
  std::optional<Operands> operands_, query_operands_;
  double scale_ = 1;  // key x scale is in the units of low

  // A list of each row.
  DeviceArray<Candidate> candidates_;
  DeviceArray<std::int32_t> counts_;
  DeviceArray<float> cutoffs_, dropped_;
  // What a tile needs.
  DeviceArray<float> tile_;
  std::int64_t ld_ = 0;
  DeviceArray<Candidate> incoming_[2];
  DeviceArray<std::int32_t> incoming_counts_[2];
  DeviceArray<std::byte> workspace_;
  // Ids that a row must not get: its own, or the one to leave out.
  DeviceArray<std::uint32_t> excluded_;
  DeviceArray<std::int64_t> leave_out_;
  DeviceArray<std::uint32_t> directionless_;
  std::int64_t directionless_count_ = 0;
};

}  // namespace libknng::cuda
