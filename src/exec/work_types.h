// The type in which engines work with rows. Rows of whole numbers that 8 bits hold are bytes to them, whatever the
// caller stores them as: images, counts, one-hot categories. Products of bytes are exact, and fast on CPUs and GPUs; a
// device stores a quarter or an eighth. Values are the same, so graphs are. Rows of 8-bit types keep theirs.
#pragma once

#include <cstdint>

#include "core/byte_types.h"
#include "dataset/dataset.h"

namespace libknng {

// For so many points, of the side that has more, whose values some types of 8 bits hold; 0: as they are stored.
std::int32_t work_dtype_for(std::int64_t points, ByteTypes types) noexcept;

// For the data of a build (queries = nullptr), or of a query with both.
void choose_work_types(Dataset& data, Dataset* queries) noexcept;

}  // namespace libknng
