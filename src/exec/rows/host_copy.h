// Copies to host memory, from there or from files, by several threads: one thread cannot fill what a device takes in.
// There are as many threads as the bytes are worth, because threads that wait for each other keep the processor busy.
// Knows nothing of devices.
#pragma once

#include <cstdint>

#include "core/thread_team.h"
#include "dataset/dataset.h"

namespace libknng {

// Rows [first, first + count) as they are stored, packed row-major. Throws KNNG_ERR_IO if some are in files.
void pack_rows(const Dataset& data, std::int64_t first, std::int64_t count, std::byte* out, ThreadTeam& team,
               int members);

void copy_bytes(void* to, const void* from, std::int64_t bytes, ThreadTeam& team, int members) noexcept;

// Has the system find memory for all of it; what it holds is lost.
void touch_bytes(void* memory, std::int64_t bytes, ThreadTeam& team) noexcept;

}  // namespace libknng
