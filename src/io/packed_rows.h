// Rows that stay in a plain file, one right behind the other, as they are stored in memory. Knows nothing of the
// formats that have them.
#pragma once

#include <cstdint>
#include <memory>

#include "dataset/row_file.h"
#include "io/source.h"

namespace libknng {

// nullptr if the source is no plain file. first_byte: where row 0 begins.
std::unique_ptr<const RowFile> packed_rows(const Source& source, std::int64_t first_byte, std::int64_t row_bytes);

}  // namespace libknng
