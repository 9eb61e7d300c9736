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
  // Throws KNNG_ERR_IO if the file's size or the time of its last write is not what it was when it was opened.
  virtual void require_unchanged() const = 0;
  // The same, and nobody touched the file in any other way: for who reads rows for the first time.
  virtual void require_untouched() const = 0;
  // Throws KNNG_ERR_IO: rows are not those that were read first.
  [[noreturn]] virtual void fail_changed() const = 0;
};

}  // namespace libknng
