// Points of a tile in panels, and strips of its rows with all of its columns, as the kernels of direct_tile.h take
// them. Knows nothing of lists.
#pragma once

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/direct_workspace.h"
#include "backend/cpu/engine.h"

namespace libknng {

// Canonical rows from `first` on in panels; u: room for one.
void pack_points(const DirectTile& kernels, const CanonicalRows& points, std::int64_t first, std::int64_t count,
                 double* u, double* panels);

// Rows from the tile's `first` on, whose points and those of the columns are packed in the workspace. Every cut-off is
// `cutoff`, in space.cutoffs: those of the rows, whole panels, then those of the columns. All points have a direction.
DirectStrip make_strip(const CpuProblem& problem, const DirectTile& kernels, const Tile& t, std::int64_t first,
                       std::int64_t rows, double cutoff, DirectWorkspace& space);

// Says which rows and columns of the strip have no direction, so that their pairs get the key of such.
void mark_directionless(const CpuProblem& problem, const Tile& t, std::int64_t first, DirectWorkspace& space,
                        DirectStrip& strip);

}  // namespace libknng
