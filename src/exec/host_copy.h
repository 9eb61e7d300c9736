// Copies within host memory by several threads: one thread cannot fill what a device takes in. Knows nothing of
// devices.
#pragma once

#include <cstdint>

#include "dataset/dataset.h"

namespace libknng {

// Rows [first, first + count) as they are stored, packed row-major.
void pack_rows(const Dataset& data, std::int64_t first, std::int64_t count, std::byte* out, int threads) noexcept;

void copy_bytes(void* to, const void* from, std::int64_t bytes, int threads) noexcept;

}  // namespace libknng
