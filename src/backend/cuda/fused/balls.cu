#include "backend/cuda/fused/balls.cuh"

#include <cuda_fp16.h>

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/select/integer_terms.h"
#include "backend/cuda/select/key.cuh"
#include "core/division.h"

namespace libknng::cuda::fused {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

// A point's operand, coordinate by coordinate; sums of two halves are exact in fp64.
struct HalvesAt {
  const __half* point;
  std::int64_t second;

  __device__ HalvesAt(const BallPoints& points, std::int64_t i)
      : point(reinterpret_cast<const __half*>(points.operands) + i * points.stride), second(points.second) {}

  __device__ double rest(std::int64_t t) const {
    return second > 0 ? static_cast<double>(__half2float(point[second + t])) : 0;
  }
  __device__ double value(std::int64_t t) const { return static_cast<double>(__half2float(point[t])) + rest(t); }
  static __device__ double term(float bits) { return static_cast<double>(bits); }
};
struct BytesAt {
  const std::int8_t* point;

  __device__ BytesAt(const BallPoints& points, std::int64_t i)
      : point(reinterpret_cast<const std::int8_t*>(points.operands) + i * points.stride) {}

  __device__ double rest(std::int64_t) const { return 0; }
  __device__ double value(std::int64_t t) const { return static_cast<double>(point[t]); }
  // As of halves: infinite without direction, and of a point of which nothing is known.
  static __device__ double term(float bits) {
    const int term = __float_as_int(bits);
    if (term == kNoIntegerTerm) return static_cast<double>(infinity());
    return term == kUnknownIntegerTerm ? -static_cast<double>(infinity()) : term;
  }
};

// To which of the window's balls each of its points belongs: that of whichever is nearer, the first point or the last.
// Any choice is right.
template <class OperandAt>
__device__ void part_window(const BallPoints& points, std::int64_t first, int count, std::uint8_t* ball) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  for (int i = warp; i < count; i += kWarps) {
    float to_first = 0, to_last = 0;
    for (std::int64_t t = lane; t < points.dim; t += 32) {
      const auto x = static_cast<float>(OperandAt(points, first + i).value(t));
      const float a = x - static_cast<float>(OperandAt(points, first).value(t));
      const float b = x - static_cast<float>(OperandAt(points, first + count - 1).value(t));
      to_first = fmaf(a, a, to_first);
      to_last = fmaf(b, b, to_last);
    }
    const float nearer = sum_of_lanes(to_first - to_last);
    if (lane == 0) ball[i] = nearer > 0 ? 1 : 0;
  }
}

// The mean of each ball's operands, or any point if it has none.
template <class OperandAt>
__device__ void find_centres(const BallPoints& points, std::int64_t first, int count, const std::uint8_t* ball,
                             float* centres) {
  int sizes[kBallsOfWindow] = {};
  for (int i = 0; i < count; ++i) ++sizes[ball[i]];
  for (std::int64_t t = threadIdx.x; t < points.dim; t += kThreads) {
    float sums[kBallsOfWindow] = {};
    for (int i = 0; i < count; ++i) {
      const auto x = static_cast<float>(OperandAt(points, first + i).value(t));
      sums[0] += ball[i] == 0 ? x : 0;
      sums[1] += ball[i] == 0 ? 0 : x;
    }
    for (int b = 0; b < kBallsOfWindow; ++b)
      centres[b * points.dim + t] = sums[b] / static_cast<float>(max(sizes[b], 1));
  }
}

// A block a window.
template <class OperandAt>
__global__ void __launch_bounds__(kThreads)
    find_balls(const BallPoints points, float* centres, float* radii, float* excesses) {
  __shared__ std::uint8_t ball[kWindow];
  __shared__ float of_warps[kBallsOfWindow][2][kWarps];
  const std::int64_t first = std::int64_t{blockIdx.x} * kWindow, dim = points.dim;
  const int count = static_cast<int>(min(points.count - first, std::int64_t{kWindow}));
  float* const own = centres + blockIdx.x * kBallsOfWindow * dim;
  part_window<OperandAt>(points, first, count, ball);
  __syncthreads();
  find_centres<OperandAt>(points, first, count, ball, own);
  __syncthreads();
  // Sums of squares, of so many roundings, to what is not below them.
  const double above = 1 + static_cast<double>(dim + 8) * 0x1p-52;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  // A ball without points is as far from all as can be (from one whose excess is infinite: NaN, which is near).
  float radius[kBallsOfWindow] = {-infinity(), -infinity()}, excess[kBallsOfWindow] = {-infinity(), -infinity()};
  for (int i = warp; i < count; i += kWarps) {
    const OperandAt a(points, first + i);
    const float* const centre = own + ball[i] * dim;
    double apart = 0, square = 0;
    for (std::int64_t t = lane; t < dim; t += 32) {
      const double value = a.value(t), rest = a.rest(t), difference = value - static_cast<double>(centre[t]);
      apart += difference * difference;
      square += value * value + rest * rest;
    }
    const float r = __double2float_ru(__dsqrt_ru(__dmul_ru(sum_of_lanes(apart), above)));
    const double term = OperandAt::term(points.terms[first + i]);
    // -inf without direction: in no list.
    const float x = __double2float_ru(__dsub_ru(__dmul_ru(sum_of_lanes(square), above), term));
#pragma unroll
    for (int b = 0; b < kBallsOfWindow; ++b)
      if (ball[i] == b) {
        radius[b] = fmaxf(radius[b], r);
        excess[b] = fmaxf(excess[b], x);
      }
  }
  if (lane == 0)
    for (int b = 0; b < kBallsOfWindow; ++b) {
      of_warps[b][0][warp] = radius[b];
      of_warps[b][1][warp] = excess[b];
    }
  __syncthreads();
  const int b = static_cast<int>(threadIdx.x);
  if (b >= kBallsOfWindow) return;
  for (int w = 0; w < kWarps; ++w) {
    radius[0] = fmaxf(w == 0 ? -infinity() : radius[0], of_warps[b][0][w]);
    excess[0] = fmaxf(w == 0 ? -infinity() : excess[0], of_warps[b][1][w]);
  }
  radii[blockIdx.x * kBallsOfWindow + b] = radius[0];
  excesses[blockIdx.x * kBallsOfWindow + b] = excess[0];
}

// The highest cut-off of each window's lists. A block a window.
__global__ void __launch_bounds__(kThreads)
    find_highest(const SelectJob rows, const SelectJob columns, float* of_rows, float* of_columns) {
  static_assert(kThreads == kWindow);
  __shared__ float of_warps[kWarps];
  const SelectJob& side = blockIdx.y == 0 ? rows : columns;
  const int lists = blockIdx.y == 0 ? rows.rows : rows.columns;
  if (static_cast<int>(blockIdx.x) * kWindow >= lists) return;
  const int list = static_cast<int>(blockIdx.x) * kWindow + static_cast<int>(threadIdx.x);
  float highest = list < lists ? side.cutoffs[list] : -infinity();
  highest = fold_lanes(highest, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = highest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) highest = fmaxf(highest, of_warps[w]);
  (blockIdx.y == 0 ? of_rows : of_columns)[blockIdx.x] = highest;
}

constexpr int kSide = 16,
              kDims = 32;  // of pairs of windows that a block looks at, and of centres that it has at a time
static_assert(kSide * kSide == kThreads);

// What no low of two balls' points is below. square: of the distance of their centres, in fp32 with one rounding a
// difference and one a step.
__device__ float least_low(float square, const Balls& a, std::int64_t i, const Balls& b, std::int64_t j) {
  const float below = __fsub_rd(1.0F, __fmul_ru(static_cast<float>(a.dim + 4), 0x1p-24F));
  const float apart = __fsqrt_rd(fmaxf(__fsub_rd(__fmul_rd(square, below), 0x1p-120F), 0.0F));
  const float gap = fmaxf(__fsub_rd(apart, __fadd_ru(a.radii[i], b.radii[j])), 0.0F);
  return __fsub_rd(__fmul_rd(gap, gap), __fadd_ru(a.excesses[i], b.excesses[j]));
}

// Some dimensions of the centres of kSide windows.
__device__ void load_centres(float (&to)[kSide * kBallsOfWindow][kDims + 1], const Balls& balls, int first_window,
                             int windows, std::int64_t first) {
  for (int i = static_cast<int>(threadIdx.x); i < kSide * kBallsOfWindow * kDims; i += kThreads) {
    const int ball = i / kDims, t = i % kDims;
    const bool is_there = first_window + ball / kBallsOfWindow < windows && first + t < balls.dim;
    to[ball][t] = is_there ? balls.centres[(first_window * kBallsOfWindow + ball) * balls.dim + first + t] : 0;
  }
}

__global__ void __launch_bounds__(kThreads)
    compare_balls(const __grid_constant__ FusedWork job, const Balls rows, const Balls columns, const float* of_rows,
                  const float* of_columns, std::uint64_t* near) {
  __shared__ float row_centres[kSide * kBallsOfWindow][kDims + 1], column_centres[kSide * kBallsOfWindow][kDims + 1];
  const int row_windows = static_cast<int>(in_windows(job.rows.rows)),
            column_windows = static_cast<int>(in_windows(job.rows.columns));
  const int r = static_cast<int>(threadIdx.x) / kSide, c = static_cast<int>(threadIdx.x) % kSide;
  const int first_row = static_cast<int>(blockIdx.y) * kSide, first_column = static_cast<int>(blockIdx.x) * kSide;
  const int row = first_row + r, column = first_column + c;
  float squares[kBallsOfWindow][kBallsOfWindow] = {};
  for (std::int64_t first = 0; first < rows.dim; first += kDims) {
    load_centres(row_centres, rows, first_row, row_windows, first);
    load_centres(column_centres, columns, first_column, column_windows, first);
    __syncthreads();
#pragma unroll 8
    for (int t = 0; t < kDims; ++t)
#pragma unroll
      for (int i = 0; i < kBallsOfWindow; ++i)
#pragma unroll
        for (int j = 0; j < kBallsOfWindow; ++j) {
          const float difference = row_centres[r * kBallsOfWindow + i][t] - column_centres[c * kBallsOfWindow + j][t];
          squares[i][j] = fmaf(difference, difference, squares[i][j]);
        }
    __syncthreads();
  }
  if (row >= row_windows || column >= column_windows) return;
  bool is_near = false;
#pragma unroll
  for (int i = 0; i < kBallsOfWindow; ++i)
#pragma unroll
    for (int j = 0; j < kBallsOfWindow; ++j) {
      const float least =
          least_low(squares[i][j], rows, row * kBallsOfWindow + i, columns, column * kBallsOfWindow + j);
      is_near = is_near || !(least > of_rows[row] && (!job.both || least > of_columns[column]));
    }
  if (!is_near) return;
  const int windows_of_unit = job.unit_columns / kWindow, unit = column / windows_of_unit;
  atomicOr(reinterpret_cast<unsigned long long*>(near) + row * column_units(job) + unit,
           1ULL << column % windows_of_unit);
}

}  // namespace

void BallArrays::find(const BallPoints& points, cudaStream_t stream) {
  const auto run = [&](auto kernel) {
    kernel<<<static_cast<unsigned>(in_windows(points.count)), kThreads, 0, stream>>>(points, centres_.data(),
                                                                                     radii_.data(), excesses_.data());
    check_launch();
  };
  if (points.are_bytes)
    run(find_balls<BytesAt>);
  else
    run(find_balls<HalvesAt>);
}

void find_near(const FusedWork& job, const Balls& rows, const Balls& columns, float* cutoffs, std::uint64_t* near,
               cudaStream_t stream) {
  static_assert(kWindow == kBlockRows && kUnitColumns / kWindow <= 64);
  const auto row_windows = static_cast<unsigned>(in_windows(job.rows.rows)),
             column_windows = static_cast<unsigned>(in_windows(job.rows.columns));
  float* const of_columns = cutoffs + row_windows;
  find_highest<<<dim3(std::max(row_windows, column_windows), job.both ? 2U : 1U), kThreads, 0, stream>>>(
      job.rows, job.columns, cutoffs, of_columns);
  check_launch();
  check(cudaMemsetAsync(near, 0, static_cast<std::size_t>(units(job)) * sizeof *near, stream));
  compare_balls<<<dim3(ceil_div(column_windows, kSide), ceil_div(row_windows, kSide)), kThreads, 0, stream>>>(
      job, rows, columns, cutoffs, of_columns, near);
  check_launch();
}

}  // namespace libknng::cuda::fused
