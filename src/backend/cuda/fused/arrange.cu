#include "backend/cuda/fused/arrange.cuh"

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/fused/fused_job.cuh"

namespace libknng::cuda::fused {
namespace {

constexpr int kThreads = 256, kPlaces = 64;  // of a block
constexpr int kValues = 8;                   // of 16 bytes

__global__ void __launch_bounds__(kThreads)
    move(const uint4* operands, std::int64_t stride, int points, const std::uint16_t* order, int pieces, uint4* to,
         std::int64_t to_stride) {
  const int first = static_cast<int>(blockIdx.x) * kPlaces;
  for (int i = static_cast<int>(threadIdx.x); i < kPlaces * pieces; i += kThreads) {
    const int place = first + i / pieces, piece = i % pieces, point = point_at(order, place);
    to[place * to_stride + piece] = point < points ? operands[point * stride + piece] : uint4{};
  }
}

}  // namespace

void arrange(const std::byte* operands, std::int64_t stride, int points, const std::uint16_t* order, std::int64_t terms,
             std::byte* to, std::int64_t to_stride, cudaStream_t stream) {
  static_assert(kTile % kPlaces == 0);
  move<<<static_cast<unsigned>(in_tiles(points) / kPlaces), kThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(operands), stride / kValues, points, order, static_cast<int>(terms / kValues),
      reinterpret_cast<uint4*>(to), to_stride / kValues);
  check_launch();
}

}  // namespace libknng::cuda::fused
