// A file of rows, read from front to back, or left where they are. One file per format implements it; open_reader()
// picks by name. Knows nothing of data sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dataset/row_file.h"
#include "io/rows_taken.h"
#include "io/source.h"

namespace libknng {

class RowReader {
 public:
  virtual ~RowReader() = default;

  std::int32_t dtype() const noexcept { return dtype_; }
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t cols() const noexcept { return cols_; }
  // Whether the matrix is read as its transpose: these rows are its columns, as its form has them in a file.
  bool turned() const noexcept { return turned_; }
  // What was taken of a file whose name leaves that open.
  virtual RowsTaken taken() const { return {}; }

  // The next `count` rows, packed row-major in native byte order, into dst. Throws KNNG_ERR_IO or KNNG_ERR_FORMAT.
  virtual void read(std::int64_t count, std::byte* dst) = 0;
  // After the last row: checks that nothing is left over and that the file did not change meanwhile.
  virtual void finish() = 0;
  // After that: what rows were taken for, where they may have been meant to be something else, for people; "": nothing.
  virtual std::string doubt() const { return {}; }
  // Memory that it holds beside the rows while it reads.
  virtual std::int64_t bytes_beside() const { return 0; }
  // The rows as ones that stay in the file, which is kept open; nullptr where they do not lie there as in memory.
  virtual std::unique_ptr<const RowFile> stay() const { return nullptr; }

 protected:
  std::int32_t dtype_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  bool turned_ = false;
};

// Throws KNNG_ERR_IO, KNNG_ERR_FORMAT, KNNG_ERR_UNSUPPORTED (with the package to install where that helps). monitor:
// may stop it while it waits for a young file; or nullptr.
std::unique_ptr<RowReader> open_reader(const std::string& path, Young young = Young::read, Monitor* monitor = nullptr);

}  // namespace libknng
