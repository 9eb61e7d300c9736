#include <algorithm>

#include "backend/cuda/check.cuh"
#include "backend/cuda/strided.cuh"

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

template <class Element>
void launch(const void* from, Strides of_from, void* to, Strides of_to, std::int64_t rows, std::int64_t columns,
            cudaStream_t stream) {
  const std::int64_t blocks = std::min((rows * columns + kThreads - 1) / kThreads, kMostBlocks);
  copy_elements<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<const Element*>(from), of_from, static_cast<Element*>(to), of_to, rows, columns);
  check_launch();
}

void copy(std::int32_t dtype, const void* from, Strides of_from, void* to, Strides of_to, std::int64_t rows,
          std::int64_t columns, cudaStream_t stream) {
  if (rows == 0) return;
  switch (element_bytes(dtype)) {
    case 1: return launch<std::uint8_t>(from, of_from, to, of_to, rows, columns, stream);
    case 2: return launch<std::uint16_t>(from, of_from, to, of_to, rows, columns, stream);
    case 4: return launch<std::uint32_t>(from, of_from, to, of_to, rows, columns, stream);
    default: return launch<std::uint64_t>(from, of_from, to, of_to, rows, columns, stream);
  }
}

}  // namespace

void pack(const knng_backend_matrix& m, std::int64_t first, std::int64_t count, void* packed, cudaStream_t stream) {
  copy(m.dtype, element(m, first, 0), {m.row_stride, m.col_stride}, packed, {m.cols, 1}, count, m.cols, stream);
}

void unpack(const void* packed, const knng_backend_matrix& m, std::int64_t first, std::int64_t count,
            cudaStream_t stream) {
  copy(m.dtype, packed, {m.cols, 1}, element(m, first, 0), {m.row_stride, m.col_stride}, count, m.cols, stream);
}

}  // namespace libknng::cuda
