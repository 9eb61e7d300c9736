#include "backend/cuda/engines/byte_scale.cuh"

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/warp.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
// Four factors an octave.
constexpr int kSteps = 4, kFactors = 10 * kSteps + 1;

// The f-th, relative to the first.
__host__ __device__ double relative_factor(int f) {
  return static_cast<double>(kSteps + f % kSteps) / kSteps * static_cast<double>(1 << f / kSteps);
}

// What rounding loses of rows: the sum of r / |x|, and that of its fourth powers.
struct Losses {
  double ratios, fourth_powers;
};

// A block a factor, a warp a row. Rows at the centre lose nothing.
__global__ void __launch_bounds__(kThreads) find_losses(const double* rows, std::int64_t count, std::int64_t dim,
                                                        const double* centre, double first_factor, Losses* losses) {
  __shared__ Losses of_warps[kWarps];
  const double factor = first_factor * relative_factor(static_cast<int>(blockIdx.x));
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  Losses sum{};
  for (std::int64_t i = warp; i < count; i += kWarps) {
    double square = 0, residual = 0;
    for (std::int64_t t = lane; t < dim; t += 32) {
      const double x = (rows[i * dim + t] - centre[t]) * factor;
      const double left = x - fmin(fmax(rint(x), -kLargestByte), kLargestByte);
      square += x * x;
      residual += left * left;
    }
    square = sum_of_lanes(square);
    residual = sum_of_lanes(residual);
    if (!(square > 0)) continue;
    const double ratio = residual / square;
    sum.ratios += sqrt(ratio);
    sum.fourth_powers += ratio * ratio;
  }
  if (lane == 0) of_warps[warp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    sum.ratios += of_warps[w].ratios;
    sum.fourth_powers += of_warps[w].fourth_powers;
  }
  losses[blockIdx.x] = sum;
}

}  // namespace

ByteScale choose_byte_scale(const double* rows, std::int64_t count, std::int64_t dim, const double* centre,
                            int exponent, Staging& staging, DeviceContext& context) {
  const double first = std::ldexp(1.0, exponent - 7);
  const DeviceArray<Losses> losses(kFactors, context);
  find_losses<<<kFactors, kThreads, 0, context.stream>>>(rows, count, dim, centre, first, losses.data());
  check_launch();
  std::array<Losses, kFactors> found;
  staging.download(losses.data(), found.data(), sizeof found, context.stream);
  const auto best = std::min_element(
      found.begin(), found.end(), [](const Losses& a, const Losses& b) { return a.fourth_powers < b.fourth_powers; });
  return {first * relative_factor(static_cast<int>(best - found.begin())), best->ratios / static_cast<double>(count)};
}

}  // namespace libknng::cuda
