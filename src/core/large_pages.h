// Large pages for large arrays: memory that is new comes with one fault for 2 MiB in place of 512, which take
// milliseconds, and a processor looks for its addresses less often. A system that has none changes nothing.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace libknng {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;
// Of smaller arrays, memory that was used before comes back from the allocator, and the end of one would be much of it.
inline constexpr std::size_t kFewestInLargePages = 2 * kLargePage;

// memory: at a whole multiple of kLargePage. What is left behind its last whole page stays in small ones.
inline void advise_large_pages(void* memory, std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#else
  (void)memory, (void)bytes;
#endif
}

}  // namespace libknng
