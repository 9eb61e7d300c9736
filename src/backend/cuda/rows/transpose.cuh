// Rows as operands that have a coordinate's values of all rows together: a kernel for all who lay them out so.
#pragma once

#include <cstdint>

namespace libknng::cuda {

inline constexpr int kTranspose = 32;  // rows and coordinates of a block
inline constexpr int kTransposeThreads = 256;

// out[order.place_of(t) pitch + i] = value(i, t) for i < count and t < dim; zeros up to `pitch` rows, a multiple of
// kTranspose, and `depth` coordinates. Through shared memory: reads run along rows, writes along coordinates. All
// values of a thread are on their way together. A block has kTranspose rows, and every gridDim.y-th run of coordinates.
template <class Value, class Order, class Out>
__global__ void __launch_bounds__(kTransposeThreads)
    transpose_rows(const Value value, std::int64_t count, std::int64_t dim, std::int64_t depth,
                   const __grid_constant__ Order order, std::int64_t pitch, Out* out) {
  __shared__ Out block[kTranspose][kTranspose + 1];
  constexpr int kStep = kTransposeThreads / kTranspose, kEach = kTranspose / kStep;
  const int x = static_cast<int>(threadIdx.x) % kTranspose, y = static_cast<int>(threadIdx.x) / kTranspose;
  const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * kTranspose;
  for (std::int64_t t0 = static_cast<std::int64_t>(blockIdx.y) * kTranspose; t0 < depth;
       t0 += static_cast<std::int64_t>(gridDim.y) * kTranspose) {
    Out mine[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t i = row0 + y + j * kStep;
      mine[j] = i < count && t0 + x < dim ? value(i, t0 + x) : Out{0};
    }
#pragma unroll
    for (int j = 0; j < kEach; ++j) block[y + j * kStep][x] = mine[j];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int c = y + j * kStep;
      if (t0 + c < depth) out[order.place_of(t0 + c) * pitch + row0 + x] = block[x][c];
    }
    __syncthreads();
  }
}

// Blocks for that.
inline dim3 transposing_blocks(std::int64_t pitch, std::int64_t depth) {
  const std::int64_t runs = (depth + kTranspose - 1) / kTranspose;
  return {static_cast<unsigned>(pitch / kTranspose), static_cast<unsigned>(runs < 65535 ? runs : 65535)};
}

}  // namespace libknng::cuda
