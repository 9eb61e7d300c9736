// A graph as a sparse matrix in Matrix Market's coordinate format: row i, column j and value of each neighbour j of i.
// Written, not read: the format has no place for marks of rows, texts and statistics.
#pragma once

#include <string>
#include <string_view>

#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

// What such a file of ours begins with.
inline constexpr std::string_view kMtxHead = "%%MatrixMarket matrix coordinate real general\n% metric ";

// Rows and columns count from 1, as the format wants. Throws KNNG_ERR_IO, KNNG_ERR_BUDGET, KNNG_ERR_CANCELLED.
void save_mtx(const Graph& g, const std::string& path, const Work& work);

}  // namespace libknng
