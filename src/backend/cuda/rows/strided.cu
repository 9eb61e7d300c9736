#include "backend/cuda/rows/strided.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/rows/element_copy.cuh"
#include "core/byte_types.h"

namespace libknng::cuda {
namespace {

// As it is, or as a byte.
template <class To, class From>
__device__ To copied(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else
    return to_byte(x);
}

// Calls f with null pointers of the types as which elements are read and written.
template <class F>
void visit_copied(std::int32_t dtype, std::int32_t to_dtype, F&& f) {
  if (dtype == to_dtype)
    visit_width(dtype_bytes(dtype), [&]<class Element>(Element* none) { f(static_cast<const Element*>(none), none); });
  else
    visit_row_dtype(dtype, [&]<class From>(const From* none) { f(none, static_cast<std::uint8_t*>(nullptr)); });
}

// Which row of a matrix comes i-th: every one, or those listed.
struct InOrder {
  __device__ std::int64_t operator()(std::int64_t i) const { return i; }
};
// What a launch takes of rows anywhere, without memory for it on the device.
struct Listed {
  static constexpr std::int64_t kMost = 256;
  std::int64_t rows[kMost];
  __device__ std::int64_t operator()(std::int64_t i) const { return rows[i]; }
};

// An element_copy.cuh Copy.
template <class From, class To, class Rows>
struct StridedCopy {
  using Value = To;
  const From* from;
  Strides of_from;
  To* to;
  Strides of_to;
  Rows rows;
  __device__ To read(std::int64_t i, std::int64_t t) const {
    return copied<To>(from[rows(i) * of_from.row + t * of_from.column]);
  }
  __device__ void write(std::int64_t i, std::int64_t t, To value) const {
    to[i * of_to.row + t * of_to.column] = value;
  }
};

Strides strides_of(const knng_backend_matrix& m) { return {m.row_stride, m.col_stride}; }

template <class Rows>
void copy(std::int32_t dtype, const void* from, Strides of_from, std::int32_t to_dtype, void* to, Strides of_to,
          const Rows& listed, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  visit_copied(dtype, to_dtype, [&]<class From, class To>(const From*, To*) {
    const StridedCopy<From, To, Rows> copy{static_cast<const From*>(from), of_from, static_cast<To*>(to), of_to,
                                           listed};
    copy_elements(copy, of_from, of_to, rows, columns, stream);
  });
}

}  // namespace

void pack(const knng_backend_piece& piece, std::int32_t dtype, std::int64_t first, std::int64_t count, void* packed,
          cudaStream_t stream) {
  const knng_backend_matrix& m = piece.rows;
  if (!piece.listed)
    return copy(m.dtype, element(m, first, 0), strides_of(m), dtype, packed, {m.cols, 1}, InOrder(), count, m.cols,
                stream);
  Listed listed{};
  for (std::int64_t done = 0; done < count; done += Listed::kMost) {
    const std::int64_t here = std::min(Listed::kMost, count - done);
    for (std::int64_t i = 0; i < here; ++i) listed.rows[i] = piece.listed[first + done + i] - piece.origin;
    copy(m.dtype, m.data, strides_of(m), dtype, static_cast<std::byte*>(packed) + done * m.cols * dtype_bytes(dtype),
         {m.cols, 1}, listed, here, m.cols, stream);
  }
}

void unpack(const void* packed, const knng_backend_matrix& m, std::int64_t first, std::int64_t count,
            cudaStream_t stream) {
  copy(m.dtype, packed, {m.cols, 1}, m.dtype, element(m, first, 0), strides_of(m), InOrder(), count, m.cols, stream);
}

}  // namespace libknng::cuda
