#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/rows/strided.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 16;

struct Strides {
  std::int64_t row, column;
};

// One element a thread at a time, in the order of the rows.
template <class Element>
__global__ void copy_elements(const Element* from, Strides of_from, Element* to, Strides of_to, std::int64_t rows,
                              std::int64_t columns) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < rows * columns;
       e += step) {
    const std::int64_t i = e / columns, t = e % columns;
    to[i * of_to.row + t * of_to.column] = from[i * of_from.row + t * of_from.column];
  }
}

// What a launch takes of rows anywhere, without memory for it on the device.
struct Listed {
  static constexpr std::int64_t kMost = 256;
  std::int64_t rows[kMost];
};

// The same of listed rows, to where they follow each other.
template <class Element>
__global__ void gather_elements(const Element* from, Strides of_from, const __grid_constant__ Listed listed,
                                Element* to, std::int64_t rows, std::int64_t columns) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < rows * columns; e += step)
    to[e] = from[listed.rows[e / columns] * of_from.row + e % columns * of_from.column];
}

unsigned blocks_for(std::int64_t elements) {
  return static_cast<unsigned>(std::min((elements + kThreads - 1) / kThreads, kMostBlocks));
}

void copy(std::int32_t dtype, const void* from, Strides of_from, void* to, Strides of_to, std::int64_t rows,
          std::int64_t columns, cudaStream_t stream) {
  if (rows == 0) return;
  visit_width(dtype_bytes(dtype), [&]<class Element>(Element*) {
    copy_elements<<<blocks_for(rows * columns), kThreads, 0, stream>>>(static_cast<const Element*>(from), of_from,
                                                                       static_cast<Element*>(to), of_to, rows, columns);
  });
  check_launch();
}

void gather(const knng_backend_matrix& m, const Listed& listed, std::int64_t count, void* to, cudaStream_t stream) {
  visit_width(dtype_bytes(m.dtype), [&]<class Element>(Element*) {
    gather_elements<<<blocks_for(count * m.cols), kThreads, 0, stream>>>(static_cast<const Element*>(m.data),
                                                                         {m.row_stride, m.col_stride}, listed,
                                                                         static_cast<Element*>(to), count, m.cols);
  });
  check_launch();
}

}  // namespace

void pack(const knng_backend_piece& piece, std::int64_t first, std::int64_t count, void* packed, cudaStream_t stream) {
  const knng_backend_matrix& m = piece.rows;
  if (!piece.listed)
    return copy(m.dtype, element(m, first, 0), {m.row_stride, m.col_stride}, packed, {m.cols, 1}, count, m.cols,
                stream);
  Listed listed{};
  for (std::int64_t done = 0; done < count; done += Listed::kMost) {
    const std::int64_t here = std::min(Listed::kMost, count - done);
    for (std::int64_t i = 0; i < here; ++i) listed.rows[i] = piece.listed[first + done + i] - piece.origin;
    gather(m, listed, here, static_cast<std::byte*>(packed) + done * m.cols * dtype_bytes(m.dtype), stream);
  }
}

void unpack(const void* packed, const knng_backend_matrix& m, std::int64_t first, std::int64_t count,
            cudaStream_t stream) {
  copy(m.dtype, packed, {m.cols, 1}, element(m, first, 0), {m.row_stride, m.col_stride}, count, m.cols, stream);
}

}  // namespace libknng::cuda
