// Copies past the caches, of bytes that nobody reads soon. On x86-64 a line that is written whole is not fetched first,
// so that a third less goes through memory, and what is in the caches stays there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace libknng {

struct StreamCopy {
  const char* target;
  // The two do not overlap. What is written is seen by whoever learns from this thread that it is there.
  void (*run)(std::byte* to, const std::byte* from, std::int64_t bytes);
};

// For the processor that this is, the fastest first.
std::span<const StreamCopy* const> stream_copies();

}  // namespace libknng
