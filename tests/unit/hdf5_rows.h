// For tests of HDF5 files: what the reader makes of one, some rows at a time. Knows nothing of how they were made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "io/reader.h"
#include "scratch.h"

#include "harness/cmocka.h"
#include "harness/hdf5_writer.h"

namespace hdf5 {

struct Rows {
  std::int32_t dtype = 0;
  std::int64_t rows = 0, cols = 0, beside = 0;
  bool stays = false;
  std::string items;
};

// `step` rows at a time.
inline Rows read_rows(const std::string& path, std::int64_t step = INT64_MAX) {
  const auto reader = libknng::open_reader(path);
  const std::int64_t row_bytes = reader->cols() * libknng::checked_dtype_bytes(reader->dtype(), "dtype");
  Rows found{reader->dtype(), reader->rows(), reader->cols(), reader->bytes_beside(), false, {}};
  found.items.resize(static_cast<std::size_t>(reader->rows() * row_bytes));
  auto* const to = reinterpret_cast<std::byte*>(found.items.data());
  for (std::int64_t row = 0; row < found.rows;) {
    const std::int64_t count = std::min(step, found.rows - row);
    reader->read(count, to + row * row_bytes);
    row += count;
  }
  reader->finish();
  if (const auto rows = reader->stay()) {
    found.stays = true;
    std::string back(found.items.size(), 0);
    for (std::int64_t row = found.rows; row-- > 0;)
      rows->read(row, 1, reinterpret_cast<std::byte*>(back.data()) + row * row_bytes);
    assert_true(back == found.items);
    rows->require_unchanged();
  }
  return found;
}

}  // namespace hdf5
