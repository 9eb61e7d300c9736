// Rows in memory of the host: those in memory of devices and in files are copied, the others stay where they are. For
// work on the CPU. Knows devices only through backend/memory.h.
#pragma once

#include <cstdint>
#include <memory>

#include "core/monitor.h"
#include "dataset/dataset.h"

namespace libknng {

// A packed copy of rows in memory of a device, checked for NaN and infinity. Charged to `budget`, and counted by
// Dataset::held_bytes() from then on.
std::shared_ptr<const Chunk> fetch_to_keep(const MatrixView& m, Budget& budget, const char* argument, Monitor& monitor);

// Rows [first, first + count) of `data`, which outlives them; if rows were picked from it, of what they were picked
// from. Copies are charged to `budget` for as long as they live. monitor: nullptr, or it stops them.
Dataset host_rows(const Dataset& data, std::int64_t first, std::int64_t count, Budget* budget, const Monitor* monitor,
                  const char* argument);

// What rows are found to be when they are looked at once. hashes: of rows in memory of a device, to be a chunk's.
struct RowFacts {
  ByteTypes types = kEitherByte;
  Buffer<std::uint64_t> hashes;
};
// require_valid() and find_byte_types(), wherever the rows live. budget: what hashes are charged to until they are
// found; null: nobody wants them. On the calling thread; monitor: follows and stops it.
RowFacts inspect_anywhere(const MatrixView& m, Budget* budget, const char* argument, Monitor& monitor);

}  // namespace libknng
