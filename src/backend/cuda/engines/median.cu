#include "backend/cuda/engines/median.cuh"

#include "backend/cuda/base/check.cuh"

namespace libknng::cuda {
namespace {

// A block a coordinate, a thread a row, which counts those before it.
__global__ void pick_medians(const double* rows, int count, std::int64_t dim, double* median) {
  __shared__ double values[kMostMedianRows];
  const int s = static_cast<int>(threadIdx.x);
  const std::int64_t t = blockIdx.x;
  if (s < count) values[s] = rows[s * dim + t];
  __syncthreads();
  if (s >= count) return;
  const double mine = values[s];
  int before = 0;
  for (int r = 0; r < count; ++r) before += values[r] < mine || (values[r] == mine && r < s);
  if (before == count / 2) median[t] = mine;
}

}  // namespace

void median_of_rows(const double* rows, std::int64_t count, std::int64_t dim, double* median, cudaStream_t stream) {
  pick_medians<<<static_cast<unsigned>(dim), static_cast<unsigned>(kMostMedianRows), 0, stream>>>(
      rows, static_cast<int>(count), dim, median);
  check_launch();
}

}  // namespace libknng::cuda
