// Points that are the columns of a file: its rows are read, some at a time, and their items go to the points. Knows
// nothing of settings and data sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/buffer.h"
#include "io/reader.h"

namespace libknng {

class FileColumns {
 public:
  // together: rows of the file that are read at a time. Their block is charged to the budget.
  FileColumns(RowReader& reader, std::int64_t together, Budget* budget);

  // The next rows of the file, `together` at most, into all points, which are packed row-major. What is wrong with a
  // cell is told of the point (row) and the coordinate (column) that it is.
  void read(std::int64_t count, std::byte* points);

 private:
  RowReader& reader_;
  std::int64_t item_bytes_;
  Buffer<std::byte> block_;
  std::int64_t first_ = 0;  // row of the file that is read next
};

}  // namespace libknng
