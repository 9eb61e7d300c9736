// Rows of a strided matrix on their way to and from packed memory, within one device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/seam.h"
#include "core/dtype.h"

namespace libknng::cuda {

// Rows follow each other, and so do their elements.
constexpr bool is_packed(const knng_backend_matrix& m) { return m.col_stride == 1 && m.row_stride == m.cols; }

// Address of an element.
inline std::byte* element(const knng_backend_matrix& m, std::int64_t row, std::int64_t column) {
  return static_cast<std::byte*>(m.data) + (row * m.row_stride + column * m.col_stride) * dtype_bytes(m.dtype);
}

// Points [first, first + count) of a piece to `packed`, memory that the device reaches, and rows of a matrix from it.
// dtype: of the points, the matrix's or one of 8 bits that holds its values. Asynchronous; the matrix's device is
// current.
void pack(const knng_backend_piece& piece, std::int32_t dtype, std::int64_t first, std::int64_t count, void* packed,
          cudaStream_t stream);
void unpack(const void* packed, const knng_backend_matrix& m, std::int64_t first, std::int64_t count,
            cudaStream_t stream);

}  // namespace libknng::cuda
