// Tiles of canonical keys, rounded down to fp32. Knows nothing of filters.
#pragma once

#include "backend/cuda/engines/tile_maker.cuh"

namespace libknng::cuda {

class KeyTiles final : public TileMaker {
 public:
  using TileMaker::TileMaker;
  static std::int64_t workspace_bytes(const knng_backend_problem& p);

  void begin(int rung, bool crowded) override;
  void fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) override;
};

}  // namespace libknng::cuda
