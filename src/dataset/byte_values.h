// Which types of 8 bits hold values that follow each other. Knows nothing of rows.
#pragma once

#include <cstdint>

#include "core/byte_types.h"

namespace libknng {

// Those that hold all of `count` valid values.
ByteTypes byte_types_of_values(const float* x, std::int64_t count) noexcept;
ByteTypes byte_types_of_values(const double* x, std::int64_t count) noexcept;

}  // namespace libknng
