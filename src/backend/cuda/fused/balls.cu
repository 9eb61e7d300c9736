#include "backend/cuda/fused/balls.cuh"

#include <cuda_fp16.h>

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/key.cuh"

namespace libknng::cuda::fused {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

// Of a point's operand, coordinate by coordinate; sums of two halves are exact in fp64.
struct OperandAt {
  const __half* point;
  std::int64_t second;

  __device__ double rest(std::int64_t t) const {
    return second > 0 ? static_cast<double>(__half2float(point[second + t])) : 0;
  }
  __device__ double value(std::int64_t t) const { return static_cast<double>(__half2float(point[t])) + rest(t); }
};

__device__ double sum_of_warp(double x) {
#pragma unroll
  for (int h = 16; h > 0; h /= 2) x += __shfl_xor_sync(0xffffffffU, x, h);
  return x;
}

// A block a ball.
__global__ void __launch_bounds__(kThreads) find_balls(const BallPoints points, float* centres, float* radii,
                                                       float* excesses) {
  __shared__ float of_warps[2][kWarps];
  const std::int64_t first = std::int64_t{blockIdx.x} * kWindow, dim = points.dim;
  const int count = static_cast<int>(min(points.count - first, std::int64_t{kWindow}));
  const auto operand = [&](int i) {
    return OperandAt{reinterpret_cast<const __half*>(points.operands) + (first + i) * points.stride, points.second};
  };
  float* const centre = centres + blockIdx.x * dim;
  for (std::int64_t t = threadIdx.x; t < dim; t += kThreads) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += static_cast<float>(operand(i).value(t));
    centre[t] = sum / static_cast<float>(count);
  }
  __syncthreads();
  // Sums of squares, of so many roundings, to what is not below them.
  const double above = 1 + static_cast<double>(dim + 8) * 0x1p-52;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  float radius = 0, excess = -infinity();
  for (int i = warp; i < count; i += kWarps) {
    const OperandAt a = operand(i);
    double apart = 0, square = 0;
    for (std::int64_t t = lane; t < dim; t += 32) {
      const double value = a.value(t), rest = a.rest(t), difference = value - static_cast<double>(centre[t]);
      apart += difference * difference;
      square += value * value + rest * rest;
    }
    apart = sum_of_warp(apart);
    square = sum_of_warp(square);
    radius = fmaxf(radius, __double2float_ru(__dsqrt_ru(__dmul_ru(apart, above))));
    const float term = points.terms[first + i];
    // Without direction: in no list.
    if (term != infinity())
      excess = fmaxf(excess, __double2float_ru(__dsub_ru(__dmul_ru(square, above), static_cast<double>(term))));
  }
  if (lane == 0) {
    of_warps[0][warp] = radius;
    of_warps[1][warp] = excess;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    radius = fmaxf(radius, of_warps[0][w]);
    excess = fmaxf(excess, of_warps[1][w]);
  }
  radii[blockIdx.x] = radius;
  excesses[blockIdx.x] = excess;
}

// The highest cut-off of each window's lists. A block a window.
__global__ void __launch_bounds__(kThreads) find_highest(const SelectJob rows, const SelectJob columns, float* of_rows,
                                                         float* of_columns) {
  static_assert(kThreads == kWindow);
  __shared__ float of_warps[kWarps];
  const SelectJob& side = blockIdx.y == 0 ? rows : columns;
  const int lists = blockIdx.y == 0 ? rows.rows : rows.columns;
  if (static_cast<int>(blockIdx.x) * kWindow >= lists) return;
  const int list = static_cast<int>(blockIdx.x) * kWindow + static_cast<int>(threadIdx.x);
  float highest = list < lists ? side.cutoffs[list] : -infinity();
#pragma unroll
  for (int h = 16; h > 0; h /= 2) highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, h));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = highest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) highest = fmaxf(highest, of_warps[w]);
  (blockIdx.y == 0 ? of_rows : of_columns)[blockIdx.x] = highest;
}

constexpr int kSide = 16, kDims = 32;  // of pairs of balls that a block looks at, and of centres that it has at a time
static_assert(kSide * kSide == kThreads);

// What no low of two balls' points is below. square: of the distance of their centres, in fp32 with one rounding a
// difference and one a step.
__device__ float least_low(float square, const Balls& a, std::int64_t i, const Balls& b, std::int64_t j) {
  const float below = __fsub_rd(1.0F, __fmul_ru(static_cast<float>(a.dim + 4), 0x1p-24F));
  const float apart = __fsqrt_rd(fmaxf(__fsub_rd(__fmul_rd(square, below), 0x1p-120F), 0.0F));
  const float gap = fmaxf(__fsub_rd(apart, __fadd_ru(a.radii[i], b.radii[j])), 0.0F);
  return __fsub_rd(__fmul_rd(gap, gap), __fadd_ru(a.excesses[i], b.excesses[j]));
}

__global__ void __launch_bounds__(kThreads)
    compare_balls(const __grid_constant__ FusedJob job, const Balls rows, const Balls columns, const float* of_rows,
                  const float* of_columns, std::uint64_t* near) {
  __shared__ float centres[2][kSide][kDims + 1];
  const int row_windows = static_cast<int>(in_windows(job.rows.rows)),
            column_windows = static_cast<int>(in_windows(job.rows.columns));
  const int r = static_cast<int>(threadIdx.x) / kSide, c = static_cast<int>(threadIdx.x) % kSide;
  const int first_row = static_cast<int>(blockIdx.y) * kSide, first_column = static_cast<int>(blockIdx.x) * kSide;
  const int row = first_row + r, column = first_column + c;
  float square = 0;
  for (std::int64_t first = 0; first < rows.dim; first += kDims) {
    for (int i = static_cast<int>(threadIdx.x); i < 2 * kSide * kDims; i += kThreads) {
      const int side = i / (kSide * kDims), ball = i / kDims % kSide, t = i % kDims;
      const int window = (side == 0 ? first_row : first_column) + ball, windows = side == 0 ? row_windows : column_windows;
      const Balls& from = side == 0 ? rows : columns;
      centres[side][ball][t] = window < windows && first + t < rows.dim ? from.centres[window * rows.dim + first + t] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int t = 0; t < kDims; ++t) {
      const float difference = centres[0][r][t] - centres[1][c][t];
      square = fmaf(difference, difference, square);
    }
    __syncthreads();
  }
  if (row >= row_windows || column >= column_windows) return;
  const float least = least_low(square, rows, row, columns, column);
  if (least > of_rows[row] && (!job.both || least > of_columns[column])) return;
  const int windows_of_unit = job.unit_columns / kWindow, unit = column / windows_of_unit;
  atomicOr(reinterpret_cast<unsigned long long*>(near) + row * column_units(job) + unit,
           1ULL << column % windows_of_unit);
}

}  // namespace

void BallArrays::find(const BallPoints& points, cudaStream_t stream) {
  find_balls<<<static_cast<unsigned>(in_windows(points.count)), kThreads, 0, stream>>>(
      points, centres_.data(), radii_.data(), excesses_.data());
  check_launch();
}

void find_near(const FusedJob& job, const Balls& rows, const Balls& columns, float* cutoffs, std::uint64_t* near,
               cudaStream_t stream) {
  static_assert(kWindow == kBlockRows && kUnitColumns / kWindow <= 64);
  const auto row_windows = static_cast<unsigned>(in_windows(job.rows.rows)),
             column_windows = static_cast<unsigned>(in_windows(job.rows.columns));
  float* const of_columns = cutoffs + row_windows;
  find_highest<<<dim3(std::max(row_windows, column_windows), job.both ? 2U : 1U), kThreads, 0, stream>>>(
      job.rows, job.columns, cutoffs, of_columns);
  check_launch();
  check(cudaMemsetAsync(near, 0, static_cast<std::size_t>(units(job)) * sizeof *near, stream));
  compare_balls<<<dim3((column_windows + kSide - 1) / kSide, (row_windows + kSide - 1) / kSide), kThreads, 0, stream>>>(
      job, rows, columns, cutoffs, of_columns, near);
  check_launch();
}

}  // namespace libknng::cuda::fused
