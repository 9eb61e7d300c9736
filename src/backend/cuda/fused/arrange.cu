#include "backend/cuda/fused/arrange.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/fused/fused_job.cuh"

namespace libknng::cuda::fused {
namespace {

constexpr int kThreads = 256, kPlaces = 64;  // of a block
constexpr int kValues = 8;                   // of 16 bytes

__global__ void __launch_bounds__(kThreads)
    move(const Arranged rows, const Arranged columns, std::int64_t stride, int pieces, std::int64_t to_stride) {
  const Arranged& side = blockIdx.y == 0 ? rows : columns;
  const auto* const operands = reinterpret_cast<const uint4*>(side.operands);
  auto* const to = reinterpret_cast<uint4*>(side.to);
  const int first = static_cast<int>(blockIdx.x) * kPlaces;
  if (first >= in_tiles(side.points)) return;
  for (int i = static_cast<int>(threadIdx.x); i < kPlaces * pieces; i += kThreads) {
    const int place = first + i / pieces, piece = i % pieces, point = point_at(side.order, place);
    to[place * to_stride + piece] = point < side.points ? operands[point * stride + piece] : uint4{};
  }
}

}  // namespace

void arrange(const Arranged& rows, const Arranged& columns, std::int64_t stride, std::int64_t terms,
             std::int64_t to_stride, cudaStream_t stream) {
  static_assert(kTile % kPlaces == 0);
  const dim3 blocks(static_cast<unsigned>(in_tiles(std::max(rows.points, columns.points)) / kPlaces), 2);
  move<<<blocks, kThreads, 0, stream>>>(rows, columns, stride / kValues, static_cast<int>(terms / kValues),
                                        to_stride / kValues);
  check_launch();
}

}  // namespace libknng::cuda::fused
