// What CUB's radix sort of pairs in two buffers takes beside them. Asking it would wake whichever device is current,
// and plans are made before one is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace libknng::cuda {

// More than it takes: 1 KiB for every tile of some thousand pairs, and counters.
constexpr std::int64_t sort_bytes(std::int64_t count) { return (std::int64_t{4} << 20) + count; }

// What it asks for is no more than what is planned.
inline void require_sort_fits(std::size_t wanted, std::int64_t planned) {
  if (wanted > static_cast<std::size_t>(planned))
    throw std::length_error("a sort wants more memory than is planned for it");
}

}  // namespace libknng::cuda
