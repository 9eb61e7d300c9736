// The .knng file: a graph with everything it knows, little-endian, 64-byte aligned arrays, one checksum over all bytes.
// Layout: docs/internals/graph-file.md. Knows nothing of other formats.
#pragma once

#include <string>

#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

inline constexpr char kGraphFileMagic[] = "\x89KNNG\r\n\x1a";
inline constexpr int kGraphFileMagicBytes = 8;

// As save_graph() and load_graph(), whose failures these are.
void save_knng(const Graph& g, const std::string& path, const Work& work);
// Throws KNNG_ERR_IO, KNNG_ERR_FORMAT, KNNG_ERR_UNSUPPORTED for a later version of the layout, KNNG_ERR_MEMORY.
Graph load_knng(const std::string& path, const Work& work);

}  // namespace libknng
