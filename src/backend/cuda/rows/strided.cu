#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/rows/strided.cuh"
#include "core/byte_types.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 16;

struct Strides {
  std::int64_t row, column;
};

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

// One element a thread at a time, in the order of the rows.
template <class From, class To>
__global__ void copy_elements(const From* from, Strides of_from, To* to, Strides of_to, std::int64_t rows,
                              std::int64_t columns) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < rows * columns;
       e += step) {
    const std::int64_t i = e / columns, t = e % columns;
    to[i * of_to.row + t * of_to.column] = copied<To>(from[i * of_from.row + t * of_from.column]);
  }
}

// What a launch takes of rows anywhere, without memory for it on the device.
struct Listed {
  static constexpr std::int64_t kMost = 256;
  std::int64_t rows[kMost];
};

// The same of listed rows, to where they follow each other.
template <class From, class To>
__global__ void gather_elements(const From* from, Strides of_from, const __grid_constant__ Listed listed, To* to,
                                std::int64_t rows, std::int64_t columns) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < rows * columns; e += step)
    to[e] = copied<To>(from[listed.rows[e / columns] * of_from.row + e % columns * of_from.column]);
}

unsigned blocks_for(std::int64_t elements) {
  return static_cast<unsigned>(std::min((elements + kThreads - 1) / kThreads, kMostBlocks));
}

void copy(std::int32_t dtype, const void* from, Strides of_from, std::int32_t to_dtype, void* to, Strides of_to,
          std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  if (rows == 0) return;
  visit_copied(dtype, to_dtype, [&]<class From, class To>(const From*, To*) {
    copy_elements<<<blocks_for(rows * columns), kThreads, 0, stream>>>(static_cast<const From*>(from), of_from,
                                                                       static_cast<To*>(to), of_to, rows, columns);
  });
  check_launch();
}

void gather(const knng_backend_matrix& m, const Listed& listed, std::int64_t count, std::int32_t dtype, void* to,
            cudaStream_t stream) {
  visit_copied(m.dtype, dtype, [&]<class From, class To>(const From*, To*) {
    gather_elements<<<blocks_for(count * m.cols), kThreads, 0, stream>>>(
        static_cast<const From*>(m.data), {m.row_stride, m.col_stride}, listed, static_cast<To*>(to), count, m.cols);
  });
  check_launch();
}

}  // namespace

void pack(const knng_backend_piece& piece, std::int32_t dtype, std::int64_t first, std::int64_t count, void* packed,
          cudaStream_t stream) {
  const knng_backend_matrix& m = piece.rows;
  if (!piece.listed)
    return copy(m.dtype, element(m, first, 0), {m.row_stride, m.col_stride}, dtype, packed, {m.cols, 1}, count, m.cols,
                stream);
  Listed listed{};
  for (std::int64_t done = 0; done < count; done += Listed::kMost) {
    const std::int64_t here = std::min(Listed::kMost, count - done);
    for (std::int64_t i = 0; i < here; ++i) listed.rows[i] = piece.listed[first + done + i] - piece.origin;
    gather(m, listed, here, dtype, static_cast<std::byte*>(packed) + done * m.cols * dtype_bytes(dtype), stream);
  }
}

void unpack(const void* packed, const knng_backend_matrix& m, std::int64_t first, std::int64_t count,
            cudaStream_t stream) {
  copy(m.dtype, packed, {m.cols, 1}, m.dtype, element(m, first, 0), {m.row_stride, m.col_stride}, count, m.cols,
       stream);
}

}  // namespace libknng::cuda
