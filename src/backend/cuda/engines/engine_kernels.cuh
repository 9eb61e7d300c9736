// The engines' table (engine.h), continued for those that evaluate tiles: what makes tiles, and the memory that it
// takes. Pure functions of the problem.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cuda/engines/engine.h"
#include "backend/cuda/engines/tile_maker.cuh"
#include "backend/seam.h"

namespace libknng::cuda {

// What lies in memory of a tile at a time.
struct TileBuffer {
  std::int64_t rows, columns;
  std::int64_t squares = 1;  // of the diagonal that `rows` has room for
  constexpr std::int64_t elements() const { return rows * leading_dimension(columns); }
};

// Bytes of device memory.
struct EngineKernels {
  EngineKind kind;
  std::unique_ptr<TileMaker> (*make)(const TileInputs& inputs);    // null: it answers rows
  std::int64_t (*bytes)(const knng_backend_problem& p);            // for as long as the maker lives
  std::int64_t (*workspace_bytes)(const knng_backend_problem& p);  // while a tile is searched
  bool (*may_order)(const knng_backend_problem& p);                // whether it may find an order of points
  TileBuffer (*buffer)(const knng_backend_problem& p);
  // Of a row's operand where TileMaker::row_filter() is there; else 0.
  std::int64_t (*row_operand_bytes)(const knng_backend_problem& p);
  // Where points come in blocks: for all points; for a while when it is made; for each block on a rung; and beside
  // blocks while they are held.
  std::int64_t (*paged_bytes)(const knng_backend_problem& p);
  std::int64_t (*opening_bytes)(const knng_backend_problem& p);
  std::int64_t (*block_bytes)(const knng_backend_problem& p, int rung);
  std::int64_t (*bytes_beside_blocks)(const knng_backend_problem& p);
};

const EngineKernels& kernels_of(const knng_backend_problem& p);

}  // namespace libknng::cuda
