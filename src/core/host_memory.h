// The memory that this machine has. Knows nothing of limits that are set.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace libknng {

// INT64_MAX where it is not known.
inline std::int64_t host_memory() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGE_SIZE);
  std::int64_t bytes = 0;
  if (pages <= 0 || page_bytes <= 0 || __builtin_mul_overflow(pages, page_bytes, &bytes)) return INT64_MAX;
  return bytes;
}

}  // namespace libknng
