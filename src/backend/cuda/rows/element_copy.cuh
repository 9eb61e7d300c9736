// Elements of a matrix on their way from one layout into another: the kernels for all who move them, with reads and
// writes next to each other on both sides. What an element becomes is the Copy's, which has
//   using Value = ..;                                         what a thread holds between reading and writing
//   __device__ Value read(std::int64_t row, std::int64_t column) const;
//   __device__ void write(std::int64_t row, std::int64_t column, Value value) const;
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/rows/element_walk.cuh"

namespace libknng::cuda {

inline constexpr int kTurned = 32;  // rows and columns of a block that turns
inline constexpr int kTurningThreads = 256;

// Read and written in the same direction.
template <class Copy>
__global__ void __launch_bounds__(ElementWalk::kThreads)
    walk_elements(const __grid_constant__ Copy copy, const __grid_constant__ ElementWalk walk) {
  constexpr int kEach = ElementWalk::kEach;
  for (std::uint32_t part = blockIdx.x; part < walk.parts(); part += gridDim.x) {
    typename Copy::Value values[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (const auto e = walk.element(part, j); e.exists) values[j] = copy.read(e.row, e.column);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (const auto e = walk.element(part, j); e.exists) copy.write(e.row, e.column, values[j]);
  }
}

// Read along rows and written down columns, or the reverse: through shared memory. All values of a thread are on their
// way together. A block has kTurned rows, and every gridDim.y-th run of as many columns.
template <bool kReadsDown, class Copy>
__global__ void __launch_bounds__(kTurningThreads)
    turn_elements(const __grid_constant__ Copy copy, std::int64_t rows, std::int64_t columns) {
  using Value = typename Copy::Value;
  __shared__ Value block[kTurned][kTurned + 1];
  constexpr int kStep = kTurningThreads / kTurned, kEach = kTurned / kStep;
  const int x = static_cast<int>(threadIdx.x) % kTurned, y = static_cast<int>(threadIdx.x) / kTurned;
  const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * kTurned;
  for (std::int64_t column0 = static_cast<std::int64_t>(blockIdx.y) * kTurned; column0 < columns;
       column0 += static_cast<std::int64_t>(gridDim.y) * kTurned) {
    Value values[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t i = row0 + (kReadsDown ? x : y + j * kStep), t = column0 + (kReadsDown ? y + j * kStep : x);
      if (i < rows && t < columns) values[j] = copy.read(i, t);
    }
#pragma unroll
    for (int j = 0; j < kEach; ++j) block[y + j * kStep][x] = values[j];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t i = row0 + (kReadsDown ? y + j * kStep : x), t = column0 + (kReadsDown ? x : y + j * kStep);
      if (i < rows && t < columns) copy.write(i, t, block[x][y + j * kStep]);
    }
    __syncthreads();
  }
}

template <bool kReadsDown, class Copy>
void turn(const Copy& copy, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  constexpr std::int64_t kMostRuns = 65535;
  const dim3 blocks(blocks_for(rows, kTurned), blocks_for(columns, kTurned, kMostRuns));
  turn_elements<kReadsDown><<<blocks, kTurningThreads, 0, stream>>>(copy, rows, columns);
  check_launch();
}

// Lanes go down columns on both sides where there are few: a block's rows then lie together, whatever is nearer.
template <class Copy>
void copy_elements(const Copy& copy, const Strides& from, const Strides& to, std::int64_t rows, std::int64_t columns,
                   cudaStream_t stream) {
  constexpr std::int64_t kFewColumns = 16;
  if (rows == 0 || columns == 0) return;
  const bool reads_down = from.run_down(), writes_down = to.run_down();
  if (reads_down != writes_down && columns > kFewColumns)
    return reads_down ? turn<true>(copy, rows, columns, stream) : turn<false>(copy, rows, columns, stream);
  const ElementWalk walk(rows, columns, reads_down || writes_down);
  walk_elements<<<walk.blocks(), ElementWalk::kThreads, 0, stream>>>(copy, walk);
  check_launch();
}

}  // namespace libknng::cuda
