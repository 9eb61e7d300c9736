// Text tables, .csv and .tsv: rows of numbers, perhaps under a header and behind names. Read twice: the first time its
// lines are counted, so that the rows go where they are wanted, at once. Knows nothing of how a cell is read.
#pragma once

#include <cstdint>
#include <memory>

#include "io/reader.h"
#include "io/source.h"
#include "io/text_lines.h"

namespace libknng {

class Monitor;

// Rows of float64. Throw KNNG_ERR_RANGE where there are no rows, KNNG_ERR_FORMAT, KNNG_ERR_IO. monitor: told of the
// first reading, and may stop it; or nullptr. block: bytes that are read at a time.
std::unique_ptr<RowReader> open_csv(std::unique_ptr<Source> source, Monitor* monitor, std::int64_t block = kTextBlock);
std::unique_ptr<RowReader> open_tsv(std::unique_ptr<Source> source, Monitor* monitor, std::int64_t block = kTextBlock);

}  // namespace libknng
