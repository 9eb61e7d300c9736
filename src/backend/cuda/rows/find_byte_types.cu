#include "backend/cuda/rows/find_byte_types.cuh"

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/rows/element_walk.cuh"
#include "core/byte_types.h"

namespace libknng::cuda {
namespace {

constexpr std::int64_t kMostBlocks = 2048;

// A thread ends with the first part that has a value that no type holds, which is its first one of most data.
template <class T>
__global__ void __launch_bounds__(ElementWalk::kThreads)
    find_types(const T* data, Strides strides, const __grid_constant__ ElementWalk walk, std::uint32_t* types) {
  ByteTypes own = kEitherByte;
  for (std::uint32_t part = blockIdx.x; part < walk.parts() && own != kNoByteType; part += gridDim.x)
#pragma unroll
    for (int j = 0; j < ElementWalk::kEach; ++j)
      if (const auto e = walk.element(part, j); e.exists)
        own = own & byte_types_of(data[e.row * strides.row + e.column * strides.column]);
  const std::uint32_t of_warp = warp_and(own);
  if (threadIdx.x % 32 == 0 && (*types & ~of_warp) != 0) atomicAnd(types, of_warp);
}

}  // namespace

void find_byte_types(const DeviceRows& rows, std::uint32_t* types, cudaStream_t stream) {
  if (rows.rows == 0) return;
  const Strides strides{rows.row_stride, rows.col_stride};
  const ElementWalk walk(rows.rows, rows.dim, strides.run_down());
  visit_row_dtype(rows.dtype, [&]<class T>(const T*) {
    find_types<<<walk.blocks(kMostBlocks), ElementWalk::kThreads, 0, stream>>>(static_cast<const T*>(rows.data),
                                                                               strides, walk, types);
    check_launch();
  });
}

}  // namespace libknng::cuda
