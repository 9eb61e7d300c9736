// Quick multi-select: Komarov, Dashti, D'Souza, "Fast k-NNG construction with GPU-based quick multi-select", PLoS ONE
// 9(5): e92409, 2014.
#pragma once

#include "select/quick_partition.h"
#include "select/selector.h"

namespace libknng {

std::int64_t quick_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both);
void run_quick(const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink);
// With the partitions of a given SIMD target.
void run_quick(const QuickPartition& simd, const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink);

}  // namespace libknng
