// Selection by one sort of the whole tile: Dashti, Komarov, D'Souza, "Efficient computation of k-nearest neighbour
// graphs for large high-dimensional data sets on GPU clusters", PLoS ONE 8(9): e74113, 2013.
#pragma once

#include "select/selector.h"

namespace libknng {

std::int64_t batch_sort_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both);
void run_batch_sort(const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink);

}  // namespace libknng
