// Selection by insertion into a bounded list: Arefin, Riveros, Berretta, Moscato, "GPU-FS-kNN: a software tool for fast
// and scalable kNN computation using GPUs", PLoS ONE 7(8): e44000, 2012.
#pragma once

#include "select/selector.h"

namespace libknng {

std::int64_t insertion_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both);
void run_insertion(const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink);

}  // namespace libknng
