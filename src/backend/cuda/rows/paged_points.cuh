// Points too many for the device: they stay where the caller has them and come in blocks of consecutive rows when they
// are used, each with what its metric needs to know of it. Knows nothing of pairs, nor of what is made of a block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/in_flight.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/metric.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/rows/points.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/seam.h"
#include "core/division.h"

namespace libknng::cuda {

// Some rows of others, as if they were all.
class PickedRows {
 public:
  // `of` outlives them.
  PickedRows(const knng_backend_rows& of, std::vector<std::int64_t> picked);
  knng_backend_rows rows() const;

 private:
  static std::int32_t read(const void* user, std::int64_t first, std::int64_t count, void* dst);

  const knng_backend_rows& of_;
  std::vector<std::int64_t> picked_;
  std::vector<knng_backend_piece> pieces_;  // of one row each
};
// Rows spread over all, for what only needs a fair sample of them.
PickedRows sample_rows(const knng_backend_rows& rows);
constexpr std::int64_t kSampleRows = 512;

class PagedPoints {
 public:
  // `between` is that of prepare_in_parts(), for the rows of a block.
  PagedPoints(const knng_backend_rows& rows, Transform transform, double limit, std::int64_t block_rows,
              Staging& staging, DeviceContext& context, std::function<void()> between);
  // What is held for all points; for a block, by who asks for it.
  static std::int64_t bytes(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows);
  static std::int64_t block_bytes(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows);
  static std::int64_t block_bytes(const knng_backend_problem& p) {
    return block_bytes(p.columns, transform_of(p), p.tile_cols);
  }
  static std::int64_t blocks_of(std::int64_t count, std::int64_t block_rows) { return ceil_div(count, block_rows); }

  std::int64_t count() const noexcept { return rows_.count; }
  std::int64_t dim() const noexcept { return rows_.dim; }
  std::int64_t blocks() const noexcept { return blocks_of(rows_.count, block_rows_); }
  std::int64_t block_of(std::int64_t row) const noexcept { return row / block_rows_; }
  std::int64_t block_rows() const noexcept { return block_rows_; }
  std::int64_t first_of(std::int64_t block) const noexcept { return block * block_rows_; }
  std::int64_t block_bytes() const noexcept { return block_bytes(rows_, transform_, block_rows_); }

  // Where a block lands that is looked at and goes.
  struct Passing {
    Passing(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows, ArraySource& source)
        : memory(source.take<std::byte>(block_bytes(rows, transform, block_rows))) {}

    DeviceArray<std::byte> memory;
  };
  Passing passing() const { return taken<Passing>(context_, rows_, transform_, block_rows_); }

  // The stream on which blocks come, beside the context's.
  const Stream& loader() const noexcept { return loader_; }
  // Puts a block's way to `memory` on the loader; its first point is row 0 of the view. What its metric needs to know
  // of its points is found the first time.
  CanonicalView bring(std::int64_t block, std::byte* memory);
  // The view of a block that was brought there.
  CanonicalView view(std::int64_t block, std::byte* memory) const;
  // All points without their rows: shape, and constants of those that have come.
  CanonicalView shape() const noexcept;
  // Whether a row that the metric refuses has come.
  bool any_refused() { return found().first_refused != PrepareFindings::kNothing; }
  bool all_have_come() const { return std::find(has_come_.begin(), has_come_.end(), false) == has_come_.end(); }
  // Brings what has not come, and throws RefusedRow of the first such row of all: whichever block a device met first.
  void look_for_refused();
  // When all have come.
  std::vector<std::uint32_t> first_directionless(std::int64_t most);

 private:
  struct Arrays {
    Arrays(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows, ArraySource& source);

    DeviceArray<RowConstants> constants;
    DeviceArray<PrepareFindings> findings;  // of each block
  };
  struct Layout;
  Layout layout(std::byte* memory) const;
  std::int64_t count_of(std::int64_t block) const noexcept {
    return std::min(block_rows_, rows_.count - first_of(block));
  }
  void prepare(const CanonicalView& view, const Layout& at, RowConstants* constants, PrepareFindings* findings);
  // What has been found of all blocks so far.
  PrepareFindings found();

  const knng_backend_rows& rows_;
  const Transform transform_;
  const double limit_;
  const std::int64_t block_rows_;
  Staging& staging_;
  DeviceContext& context_;
  const std::function<void()> between_;
  InFlight parts_{2};  // of blocks that are prepared
  const Stream loader_{Stream::Priority::high};
  Arrays arrays_;
  std::vector<bool> has_come_;       // by block
  const UntilDone loaded_{loader_};  // before the arrays go
};

}  // namespace libknng::cuda
