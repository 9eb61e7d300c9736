// Arrays of a sparse matrix into the caller's memory, in the caller's types and counting from the caller's base. Knows
// nothing of rules.
#pragma once

#include <cstdint>

#include "core/matrix_view.h"
#include "graph/sparse.h"

namespace libknng {

// Throws KNNG_ERR_ARGUMENT unless `to` is count x 1 of a type for indices, or for values.
void require_numbers(const MutableMatrixView& to, std::int64_t count, bool values, const char* argument);

// numbers[i] + base. Throws KNNG_ERR_RANGE, with the row, for what the type cannot hold.
void copy_numbers(const Buffer<std::int64_t>& numbers, std::int32_t base, const MutableMatrixView& to,
                  const char* argument);

// The values, rounded to nearest. Throws KNNG_ERR_RANGE, with the row, for a finite one that is too large.
void copy_values(const Sparse& s, const MutableMatrixView& to);

}  // namespace libknng
