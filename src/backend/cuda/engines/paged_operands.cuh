// Operands of points that come in blocks: each block is rounded when it comes. What the bound needs of every point is
// kept from the first time on. Knows nothing of tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/engines/operands.cuh"
#include "backend/cuda/rows/paged_points.cuh"
#include "backend/cuda/rows/slots.cuh"

namespace libknng::cuda {

class PagedOperands {
 public:
  // The bound's ratio is that of a sample; none of its points is the longest (refine/low_bound.h).
  PagedOperands(PagedPoints& points, const Metric& metric, const Frame& frame, Precision precision,
                const LowBound& bound, DeviceContext& context);
  // Bytes.
  PagedOperands(PagedPoints& points, const Metric& metric, DeviceContext& context);
  static std::int64_t bytes(std::int64_t count);  // at most

  // Between hold() and release() `slots` blocks are on the device at a time.
  void hold(std::int64_t slots);
  void release();
  static std::int64_t slot_bytes(std::int64_t block_rows, std::int64_t dim, Precision precision);
  // Besides the slots: a block as it comes, and what rounding it takes.
  static std::int64_t held_bytes(std::int64_t block_bytes, std::int64_t block_rows, std::int64_t dim,
                                 Precision precision);
  std::int64_t slots() const noexcept { return slots_ ? slots_->count() : 0; }

  // For what is put on the context's stream until used().
  const std::byte* block(std::int64_t block);
  void used() { slots_->used(); }

  // What another device knows of points whose blocks have not come here. Neither brings blocks meanwhile.
  void learn(const PagedOperands& from, int device, int device_of_from);

  // Of points whose blocks have come, or that were learnt.
  const float* terms() const noexcept { return known_.terms.data(); }    // +inf: without direction
  const float* bounds() const noexcept { return known_.bounds.data(); }  // null: of bytes

 private:
  // Of all points.
  struct Known {
    Known(std::int64_t count, bool bounded, ArraySource& source);

    DeviceArray<float> terms, bounds;
  };
  // Where a block lands as it is stored, and what rounding it takes; bytes are not rounded.
  struct Landing {
    Landing(std::int64_t block_bytes, std::int64_t block_rows, std::int64_t dim, bool rounded, ArraySource& source);

    DeviceArray<std::byte> stored;
    DeviceArray<double> canonical;
    DeviceArray<OperandSums> sums;
    DeviceArray<OperandExtremes> extremes;
  };

  void round(const CanonicalView& view, std::byte* to, std::int64_t first, bool terms);

  PagedPoints& points_;
  const Metric& metric_;
  const Precision precision_;
  const Frame* const frame_ = nullptr;   // none: bytes
  const std::optional<LowBound> bound_;  //
  DeviceContext& context_;
  Known known_;
  std::vector<bool> has_terms_;  // by block: it has come
  std::optional<Landing> landing_;
  std::optional<Slots> slots_;
};

}  // namespace libknng::cuda
