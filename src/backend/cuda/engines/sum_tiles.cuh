// Tiles of sums in single precision, for metrics without product form; and, for rows that these do not prove, of
// canonical keys.
#pragma once

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/engines/key_tiles.cuh"
#include "backend/cuda/engines/tile_maker.cuh"

namespace libknng::cuda {

class SumTiles final : public TileMaker {
 public:
  // Looks at all values.
  explicit SumTiles(const TileInputs& inputs);
  // For as long as it lives.
  static std::int64_t bytes(const knng_backend_problem& p);
  static std::int64_t workspace_bytes(const knng_backend_problem& p);

  void begin(int rung, bool crowded) override;
  void fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) override;

 private:
  struct Found {
    explicit Found(ArraySource& source) : range(source.take<ValueRange>(1)) {}

    DeviceArray<ValueRange> range;
  };

  ValueRange find_values() const;

  KeyTiles keys_;
  const ValueRange range_;  // of all values
};

}  // namespace libknng::cuda
