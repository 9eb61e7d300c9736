// .fbin, .u8bin, .i8bin and .ibin, the formats of the big-ann benchmarks: number of rows, dimension, then the rows. The
// two numbers have 32 bits each, or, in newer files, 64; the size of the file tells which.
#pragma once

#include <memory>

#include "io/reader.h"
#include "io/source.h"

namespace libknng {

// Rows of float32, uint8, int8, int32. Throws KNNG_ERR_FORMAT.
std::unique_ptr<RowReader> open_fbin(std::unique_ptr<Source> source);
std::unique_ptr<RowReader> open_u8bin(std::unique_ptr<Source> source);
std::unique_ptr<RowReader> open_i8bin(std::unique_ptr<Source> source);
std::unique_ptr<RowReader> open_ibin(std::unique_ptr<Source> source);

}  // namespace libknng
