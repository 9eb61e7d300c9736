#include "backend/cuda/rows/find_byte_types.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "core/byte_types.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 2048;

// A thread ends with the first value that no type holds, which is its first one of most data.
template <class T>
__global__ void __launch_bounds__(kThreads) find_types(const T* data, std::int64_t row_stride, std::int64_t col_stride,
                                                       std::int64_t rows, std::int64_t columns, std::uint32_t* types) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const bool packed = col_stride == 1 && row_stride == columns;
  ByteTypes own = kEitherByte;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       e < rows * columns && own != kNoByteType; e += step)
    own = own & byte_types_of(packed ? data[e] : data[e / columns * row_stride + e % columns * col_stride]);
  const std::uint32_t of_warp = warp_and(own);
  if (threadIdx.x % 32 == 0 && (*types & ~of_warp) != 0) atomicAnd(types, of_warp);
}

}  // namespace

void find_byte_types(const DeviceRows& rows, std::uint32_t* types, cudaStream_t stream) {
  const std::int64_t blocks = std::min((rows.rows * rows.dim + kThreads - 1) / kThreads, kMostBlocks);
  if (blocks == 0) return;
  visit_row_dtype(rows.dtype, [&]<class T>(const T*) {
    find_types<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
        static_cast<const T*>(rows.data), rows.row_stride, rows.col_stride, rows.rows, rows.dim, types);
    check_launch();
  });
}

}  // namespace libknng::cuda
