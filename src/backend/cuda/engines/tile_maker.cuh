// How an engine finds the candidates of a tile: it fills the tile with lower bounds of keys, from which a selector
// takes them, and says what lists have to know of these. One of these for a session; which, the table of engines says
// (engine_kernels.cuh). Knows nothing of lists.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/rows/point_store.cuh"
#include "backend/seam.h"
#include "metric/metric.h"
#include "refine/sum_bound.h"

namespace libknng::cuda {

// What makers work with, which outlives them.
struct TileInputs {
  const knng_backend_problem& problem;
  const Metric& metric;
  PointStore& points;
  HandleCache& handles;
  Staging& staging;
  DeviceContext& context;
  const DirectParts& key_parts;
};

// Pairs of rows with columns, by the numbers of both.
struct TileArea {
  std::int64_t first_row, rows, first_column, columns;
};

// What a tile's values are on a rung: how a low follows from one (SelectJob), and how far below its key it may be
// (Bounds, FilterBounds). By point, in device memory; null: there are none.
struct TileMeaning {
  bool integers = false;
  double scale = 1;  // key x scale is in the units of lows
  const float *row_terms = nullptr, *row_bounds = nullptr, *column_terms = nullptr, *column_bounds = nullptr;
  std::optional<SumBound> sums;
};

class TileMaker {
 public:
  explicit TileMaker(const TileInputs& inputs) : in_(inputs) {}
  virtual ~TileMaker() = default;
  TileMaker(const TileMaker&) = delete;
  TileMaker& operator=(const TileMaker&) = delete;

  // Tiles that follow are of this rung; what was held for the rung before goes first.
  virtual void begin(int rung) = 0;
  // tile[r ld + c] for each pair. `workspace` is that of the engine's line. Asynchronous.
  virtual void fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) = 0;
  const TileMeaning& meaning() const noexcept { return meaning_; }

  // Where points come in blocks: whether blocks are held as the maker needs them, rather than as they are stored; so
  // many of them, from begin() until release().
  virtual bool holds_blocks() const noexcept { return false; }
  virtual void hold(std::int64_t /*blocks*/) {}
  virtual void release() {}
  virtual std::int64_t held() const noexcept { return 0; }
  // What was put on the stream uses blocks no more than until it is done.
  virtual void used() {}
  // What another device's maker of the same rung knows of points whose blocks have not come here.
  virtual void learn(const TileMaker& /*from*/, int /*device*/, int /*device_of_from*/) {}

 protected:
  const TileInputs in_;
  TileMeaning meaning_;
};

}  // namespace libknng::cuda
