// A graph as NumPy's archive: indices.npy and distances.npy, and, if we wrote it, ties.npy, proof.npy and knng_text.npy
// with what else the graph knows. Needs the formats library.
#pragma once

#include <string>
#include <string_view>

#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

// Members that every such archive has.
inline constexpr std::string_view kNpzIndices = "indices.npy", kNpzDistances = "distances.npy";

// Throws KNNG_ERR_IO, KNNG_ERR_UNSUPPORTED without the formats library.
void save_npz(const Graph& g, const std::string& path, const Work& work);
// Also archives of others: indices int32 or int64, distances float32 or float64. Throws KNNG_ERR_IO, KNNG_ERR_FORMAT,
// KNNG_ERR_UNSUPPORTED, KNNG_ERR_MEMORY.
Graph load_npz(const std::string& path, const Work& work);

}  // namespace libknng
