// Filter tiles whose operands are bfloat16: as filter_tile.h, for processors that multiply them. Knows nothing of
// metrics, bounds, lists or threads.
//
// Operands lie twice in memory. Rows: point by point, bf16_depth(dim) values each. Columns: in panels of 48 points, two
// coordinates of a point at a time, coordinate t of point i at [i / 48][t / 2][i mod 48][t mod 2]. Past the last
// coordinate there are zeros, and past the last point kBf16RowsBehind rows of anything.
#pragma once

#include <span>

#include "backend/cpu/filter_tile.h"

namespace libknng {

// Those that this processor and this process can run, best first; may be empty.
//   - AMX: tiles of 16 x 16 products. Linux gives it to processes that asked for it with arch_prctl(); a library must
//   not ask for its host, because signal frames grow with it.
//   - AVX-512 BF16 (vdpbf16ps).
std::span<const FilterTile* const> bf16_tiles();

// The best of them, if it is faster than single precision here; else nullptr.
const FilterTile* fast_bf16_tile();

}  // namespace libknng
