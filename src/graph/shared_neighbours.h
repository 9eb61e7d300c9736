// Shared nearest neighbours: how much two rows' neighbourhoods have in common. Knows nothing of distances: ranks only.
#pragma once

#include "graph/sparse.h"

namespace libknng {

enum class SharedWeight { rank, number, jaccard };

// A(i) is row i at rank 0 and its neighbours at ranks 1, 2, ...; rows whose A meet get an entry (Jarvis and Patrick
// 1973; rank weights of Xu and Su 2015). Time is the number of pairs (row, row, shared point), memory that of the
// result. g must be square.
Sparse shared_neighbours(const Graph& g, SharedWeight weight, const Work& work);

}  // namespace libknng
