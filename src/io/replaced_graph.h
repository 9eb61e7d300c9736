// What a graph may be written over: an earlier graph, or an empty file. Whatever else is there may be somebody's data,
// and stays. Knows nothing of how graphs are written.
#pragma once

#include <string>

#include "io/file.h"

namespace libknng {

// Throws KNNG_ERR_IO if `file` would replace what is no graph that libknng writes as one file, in whichever format.
void require_graph_in_place(const OutputFile& file);

// Of the two files of a format that has ids and values apart: throws KNNG_ERR_IO unless both are there, as long as each
// other and with the same bytes in front (their counts), or neither is. Empty files count as not there.
void require_pair_in_place(const OutputFile& ids, const OutputFile& values, std::int64_t count_bytes);

}  // namespace libknng
