// Rows that stay in their file instead of host memory: which do, the one pass over them when they are added, and work
// with files that must not change meanwhile. Knows nothing of formats or devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/monitor.h"
#include "dataset/dataset.h"

namespace libknng {

// Whether so many bytes of rows are too many for host memory, beside those that are held: together more than three
// quarters of the limit (max_host_bytes; 0: the machine's memory), since work needs memory, too.
bool too_large_to_hold(std::int64_t bytes, std::int64_t held, std::int64_t limit) noexcept;

// Reads all rows once, on a driver thread and its team: their values must be valid, and their hashes are kept, charged
// to `budget`, and counted by Dataset::held_bytes() from then on. Throws KNNG_ERR_DATA.
std::shared_ptr<const Chunk> leave_in_file(std::unique_ptr<const RowFile> file, std::int32_t dtype, std::int64_t rows,
                                           std::int64_t cols, int threads, Budget& budget, Monitor& monitor);

// Runs work that reads the rows on a driver thread, or here if it is brief. What comes of it, and what it says against
// rows, holds only if files in which they stay did not change: else KNNG_ERR_IO. queries: or nullptr.
void run_while_unchanged(const Dataset& data, const Dataset* queries, Monitor& monitor, bool brief,
                         const std::function<void()>& work);

}  // namespace libknng
