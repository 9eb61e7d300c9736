// Products that are compared in registers as they are made (fused/), instead of in a tile in memory. Lists that have no
// cut-offs yet get them from tiles in memory, on the diagonal of a graph or under the first columns of queries; from
// there parts double, so that about k pairs of each pass the cut-offs of the parts before. Where many neighbours are
// wanted cut-offs are guessed before, so that few pairs pass from the first part on. Products in fp32, points
// that come in blocks, and all where the probe found that the kernels add up wrongly, go through tiles in memory.
#pragma once

#include "backend/cuda/engines/engine_kernels.cuh"
#include "backend/cuda/engines/product_tiles.cuh"

namespace libknng::cuda {

class FusedTiles final : public ProductTiles {
 public:
  explicit FusedTiles(const TileInputs& inputs);

  static std::int64_t workspace_bytes(const knng_backend_problem& p);
  static TileBuffer buffer(const knng_backend_problem& p);

  std::vector<TilePart> parts(const TileArea& area, bool square) const override;
  CutoffGuess guess() const override;
  void find(TileSearch& search) override;

 private:
  bool fuses() const;
  void cut(const TileArea& area, bool square, std::vector<TilePart>& parts) const;
  void split_diagonal(const TileArea& area, std::vector<TilePart>& parts) const;
  void split_queries(const TileArea& area, std::vector<TilePart>& parts) const;

  int compute_major_ = 0, multiprocessors_ = 0;
};

}  // namespace libknng::cuda
