// A graph as two files of rows of the same shape: int32 ids, and float32 values beside them under the name with an f in
// place of the i. So tools that measure approximate neighbours take their ground truth. Written, not read: the files
// have no marks of rows, metric or statistics, nor the number of columns.
#pragma once

#include <cstdint>
#include <string>

#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

// path: NAME.ivecs, or NAME.ibin; values go to NAME.fvecs, or NAME.fbin. Both files get their names, or neither does.
// Values of float64 are rounded once, to the nearest float32, as value_type=f32 rounds them. Throws KNNG_ERR_OPTION for
// another path; KNNG_ERR_RANGE for more columns than int32 ids can name, or a finite value that float32 cannot hold;
// KNNG_ERR_IO, also where other files than such a pair are there: they may be data; KNNG_ERR_BUDGET,
// KNNG_ERR_CANCELLED.
void save_vecs(const Graph& g, const std::string& path, const Work& work);
void save_bins(const Graph& g, const std::string& path, const Work& work);

// What a .ibin or .fbin begins with: two counts of 32 bits or, where one needs more, of 64.
std::string bin_header(std::int64_t rows, std::int64_t width);

}  // namespace libknng
