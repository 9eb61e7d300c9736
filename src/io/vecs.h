// .fvecs, .bvecs and .ivecs, the formats of the TEXMEX data sets: before each row its dimension, int32 little-endian.
// Knows nothing of compression: the number of rows follows from the size of the file.
#pragma once

#include <memory>

#include "io/reader.h"
#include "io/source.h"

namespace libknng {

// Rows of float32, uint8, int32. Throws KNNG_ERR_FORMAT.
std::unique_ptr<RowReader> open_fvecs(std::unique_ptr<Source> source);
std::unique_ptr<RowReader> open_bvecs(std::unique_ptr<Source> source);
std::unique_ptr<RowReader> open_ivecs(std::unique_ptr<Source> source);

}  // namespace libknng
