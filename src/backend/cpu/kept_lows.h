// The fused engine's way with few points: lower bounds of all pairs (tile_lows.h) are written down and kept, those of
// two points for both. The smallest of a row are its candidates, their keys are its cut-off, and whoever is not below
// it is done with. So no cut-off has to be guessed, and no list grows while tiles come. Knows nothing of threads'
// turns.
#pragma once

#include "backend/cpu/engine.h"

namespace libknng {

// Of four doubles at most: keys take longer beside bounds in fp32 then.
bool vectors_are_short();
// Whether it is faster than tiles, or than the direct engine, by measurements.
bool kept_lows_pay(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
                   std::int64_t k);
// Whether it does a problem with that grid: all pairs are one tile, few enough are wanted, and rows are not of integers
// whose exact products are faster. dtype: of both sides, 0 if they differ.
bool keeps_lows(const Metric& metric, std::int32_t dtype, const TileGrid& grid, std::int64_t dim, std::int64_t k);

// Memory: for all threads, and of each.
std::int64_t kept_lows_bytes(const Metric& metric, std::int32_t dtype, const TileGrid& grid, std::int64_t dim);
std::int64_t kept_lows_workspace_bytes(const TileGrid& grid, std::int64_t dim);

CpuCounts run_with_kept_lows(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor);

}  // namespace libknng
