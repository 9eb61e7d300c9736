// IDX, the format of MNIST: magic number, sizes, then unsigned bytes. Knows nothing of compression.
#pragma once

#include <memory>

#include "io/reader.h"
#include "io/source.h"

namespace libknng {

// The first dimension counts rows, the others are flattened; one dimension alone is rows x 1. Throws KNNG_ERR_FORMAT,
// and KNNG_ERR_UNSUPPORTED for element types other than unsigned byte.
std::unique_ptr<RowReader> open_idx(std::unique_ptr<Source> source);

}  // namespace libknng
