// Tiles of products of operands, for metrics with product form: of bytes, or on each rung of the ladder in another
// precision.
#pragma once

#include <optional>

#include "backend/cuda/engines/engine.h"
#include "backend/cuda/engines/operands.cuh"
#include "backend/cuda/engines/paged_operands.cuh"
#include "backend/cuda/engines/product.cuh"
#include "backend/cuda/engines/tile_maker.cuh"

namespace libknng::cuda {

// Of which precision its products are on a rung of the ladder.
Precision precision_of(const knng_backend_problem& p, int rung);

class ProductTiles : public TileMaker, private RowFilter {
 public:
  explicit ProductTiles(const TileInputs& inputs);

  // What it takes for as long as it lives, operands of a rung included; and where points come in blocks: for all
  // points; before the first begin() alone; for a block; beside blocks while they are held.
  static std::int64_t bytes(const knng_backend_problem& p);
  // Of it, operands of points that are both rows and columns: not there before the first begin().
  static std::int64_t operand_bytes_of_graph(const knng_backend_problem& p);
  static std::int64_t paged_bytes(const knng_backend_problem& p);
  static std::int64_t opening_bytes(const knng_backend_problem& p);
  static std::int64_t block_bytes(const knng_backend_problem& p, int rung);
  static std::int64_t bytes_beside_blocks(const knng_backend_problem& p);
  // Of the largest operand of a row, where all points are there; else 0.
  static std::int64_t row_operand_bytes(const knng_backend_problem& p);

  void begin(int rung, bool crowded) override;
  const double* centre() const noexcept override { return frame_ ? frame_->centre() : nullptr; }
  RowFilter* row_filter() override { return this; }

  bool holds_blocks() const noexcept override { return true; }
  void hold(std::int64_t blocks) override { paged_operands_->hold(blocks); }
  void release() override {
    if (paged_operands_) paged_operands_->release();
  }
  std::int64_t held() const noexcept override { return paged_operands_ ? paged_operands_->slots() : 0; }
  void used() override {
    if (held() > 0) paged_operands_->used();
  }
  void learn(const TileMaker& from, int device, int device_of_from) override {
    if (paged_operands_)
      paged_operands_->learn(*static_cast<const ProductTiles&>(from).paged_operands_, device, device_of_from);
  }

 protected:
  void fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) override;
  Precision precision() const noexcept { return precision_; }
  // Of points that do not come in blocks.
  const Frame& frame() const { return *frame_; }
  const Operands& operands() const { return *operands_; }
  Products& products() noexcept { return products_; }
  // The point `first` and those behind it: of a block, where points come in blocks.
  const std::byte* operands_of_columns(std::int64_t first);
  const std::byte* operands_of_rows(std::int64_t first);

 private:
  void gather_rows(const std::int64_t* list, std::int64_t count, std::byte* operands) override;
  RowLows lows(const std::byte* operands, std::int64_t count, std::int64_t first, std::int64_t columns, float* tile,
               std::int64_t ld) override;

  void make_frame();
  void round_operands();

  Products products_;
  std::optional<const Points> sample_;  // of points that come in blocks
  std::optional<Frame> frame_;          // none: bytes
  Precision precision_{};
  std::optional<Operands> operands_, query_operands_;
  std::optional<PagedOperands> paged_operands_;
};

}  // namespace libknng::cuda
