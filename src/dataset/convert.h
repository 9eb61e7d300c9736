// Rows out of a data set into the caller's memory, converted to its type.
#pragma once

#include <cstdint>

#include "core/matrix_view.h"
#include "dataset/dataset.h"

namespace libknng {

// Rows first, first + 1, ... into all of `to`, whose cols are the dimension and whose dtype is a row type. Integers
// must be met exactly, floating point is rounded to nearest and must stay finite: otherwise KNNG_ERR_RANGE with row and
// column, counted from `number`.
void store_rows(const Dataset& data, std::int64_t first, const MutableMatrixView& to, std::int64_t number);

}  // namespace libknng
