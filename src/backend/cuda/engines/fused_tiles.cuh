// Products that are compared in registers as they are made (fused/), instead of in a tile in memory. Lists that have no
// cut-offs yet get them from tiles in memory, on the diagonal of a graph or under the first columns of queries; from
// there parts double, so that about k pairs of each pass the cut-offs of the parts before. Where points come in blocks
// the first tile of a block, wherever it lies, opens its lists. Where many neighbours are wanted cut-offs are guessed
// before, so that few pairs pass from the first part on. Parts on the diagonal stay in registers then, too, unless
// points are in an order of cells. Products in fp32, and all where the probe found that the kernels add up wrongly, go
// through tiles in memory. Rows of 8-bit integers are multiplied as such. A graph of many points in clusters has them
// in an order in which clusters stay together (cells.cuh), and leaves out products of balls of points that are too far
// apart (fused/balls.cuh).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cuda/engines/engine_kernels.cuh"
#include "backend/cuda/engines/product_tiles.cuh"
#include "backend/cuda/fused/balls.cuh"

namespace libknng::cuda {

class FusedTiles final : public ProductTiles {
 public:
  explicit FusedTiles(const TileInputs& inputs);

  static std::int64_t bytes(const knng_backend_problem& p);
  static bool may_order(const knng_backend_problem& p);
  static std::int64_t workspace_bytes(const knng_backend_problem& p);
  static TileBuffer buffer(const knng_backend_problem& p);

  DeviceArray<std::int64_t> find_order() override;
  bool scatters() const noexcept override { return may_order(in_.problem) && fuses(Precision::fp16); }
  void begin(int rung, bool crowded) override;
  std::vector<TilePart> parts(const TileArea& area, bool square) override;
  std::vector<TilePart> parts_of_sample(const TileArea& area, std::int64_t seen) override;
  CutoffGuess guess() const override;
  void trust_guesses(std::int64_t room) override;
  void lists_cleared() override;
  bool leaves_out() const noexcept override { return balls_ && fuses(); }
  void find(TileSearch& search) override;

 private:
  bool fuses() const noexcept;
  bool fuses(Precision precision) const noexcept;
  template <class Number>
  void find_in_registers(const TileSearch& search);
  bool has_balls(const TileArea& area) const;
  void cut(const TileArea& area, bool square, std::vector<TilePart>& parts) const;
  DiagonalCut diagonal_cut() const;
  void split_strips(const TileArea& area, bool of_columns, std::vector<TilePart>& parts) const;
  bool has_met(std::int64_t first) const;
  void meet(std::int64_t first, std::int64_t points);

  int compute_major_ = 0, multiprocessors_ = 0;
  bool crowded_ = false;                    // lists take in so much on this rung that a tile in memory is faster
  int passes_under_guess_ = 0;              // of squares, if all lists of this rung have guessed cut-offs; else 0
  std::vector<bool> met_;                   // by blocks of rows (and columns, of a graph): since lists were cleared
  std::optional<fused::BallArrays> balls_;  // where points are in an order of cells
};

}  // namespace libknng::cuda
