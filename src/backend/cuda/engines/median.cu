#include "backend/cuda/engines/median.cuh"

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/orderable.cuh"

namespace libknng::cuda {
namespace {

constexpr std::uint32_t kRowBits = kMostMedianRows - 1;
static_assert((kMostMedianRows & kRowBits) == 0 && kMostMedianRows % 4 == 0);

// A block a coordinate, a thread a row, which counts those before it. Integers of 32 bits, with the row in the last
// eight, differ from one another and take one comparison. They are of differences from the first row: values may be
// large beside what they differ by.
__global__ void __launch_bounds__(kMostMedianRows)
    pick_medians(const double* rows, int count, std::int64_t dim, double* median) {
  __shared__ uint4 fours[kMostMedianRows / 4];
  const auto s = static_cast<std::uint32_t>(threadIdx.x);
  const std::int64_t t = blockIdx.x;
  const double x = s < count ? rows[s * dim + t] : 0;
  const std::uint32_t mine = s < count ? (orderable(static_cast<float>(x - rows[t])) & ~kRowBits) | s : ~0U;
  reinterpret_cast<std::uint32_t*>(fours)[s] = mine;
  __syncthreads();
  int before = 0;
#pragma unroll 4
  for (int i = 0; i < (count + 3) / 4; ++i) {
    const uint4 four = fours[i];
    before += (four.x < mine) + (four.y < mine) + (four.z < mine) + (four.w < mine);
  }
  if (s < count && before == count / 2) median[t] = x;
}

}  // namespace

void median_of_rows(const double* rows, std::int64_t count, std::int64_t dim, double* median, cudaStream_t stream) {
  pick_medians<<<static_cast<unsigned>(dim), static_cast<unsigned>(kMostMedianRows), 0, stream>>>(
      rows, static_cast<int>(count), dim, median);
  check_launch();
}

}  // namespace libknng::cuda
