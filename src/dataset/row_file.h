// Rows that stay in a file: read when they are wanted, by any thread. Knows nothing of formats; io/ has the files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace libknng {

class RowFile {
 public:
  RowFile() = default;
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;
  virtual ~RowFile() = default;

  // Rows [first, first + count) as they are stored, packed row-major. Several threads may read at the same time. Throws
  // KNNG_ERR_IO.
  virtual void read(std::int64_t first, std::int64_t count, std::byte* out) const = 0;
  // Throws KNNG_ERR_IO if the file is not as it was when it was opened.
  virtual void require_unchanged() const = 0;
};

}  // namespace libknng
