// The selectors of the CPU, as one ordered table, and the choice for selector=auto. They give the same candidates;
// which is fastest depends on k and on the length of lines (docs/internals/benchmarks.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "select/low_tile.h"

namespace libknng {

struct Selector {
  const char* name;
  // Memory for tiles of up to that size; both: with column_cuts.
  std::int64_t (*workspace_bytes)(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both);
  // For every line of the tile the k smallest, then, as long as the sink's cut-off admits more, the next k. The
  // workspace is 64-byte aligned.
  void (*run)(const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink);
};

std::span<const Selector> selectors();
// nullptr if there is none of that name.
const Selector* find_selector(std::string_view name);
// For lines of that length.
const Selector& best_selector(std::int64_t k, std::int64_t length);

}  // namespace libknng
