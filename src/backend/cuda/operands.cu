#include "backend/cuda/operands.cuh"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cuda/prepare.cuh"

namespace libknng::cuda {
namespace {

constexpr int kWarp = 32, kThreads = 256;
constexpr std::int64_t kCentreRows = 255;
// Canonical rows in fp64 that are on the device at a time.
constexpr std::int64_t kBatchValues = std::int64_t{1} << 23;
// The largest value is just below 2^14: room for small ones above fp16's denormals, none lost above.
constexpr int kLargestExponent = 13;
// What rounding can do to a point, relative to its length, short of underflow.
constexpr double rounding(Precision p) {
  return p == Precision::fp16 ? 0x1p-11 : p == Precision::two_piece ? 0x1p-22 : 0x1p-24;
}

std::int64_t batch_rows(std::int64_t dim) { return std::max<std::int64_t>(1, kBatchValues / dim); }
unsigned blocks_of_warps(std::int64_t warps) {
  return static_cast<unsigned>((warps + kThreads / kWarp - 1) / (kThreads / kWarp));
}

// Calls f(first, count, u) for all points, batch by batch: u has their canonical rows.
template <class F>
void for_batches(const Points& points, Home& home, F&& f) {
  const std::int64_t together = std::min(batch_rows(points.dim()), points.count());
  const DeviceArray<double> u(together * points.dim(), home);
  for (std::int64_t first = 0; first < points.count(); first += together) {
    const std::int64_t count = std::min(together, points.count() - first);
    load_canonical(points.view(), nullptr, first, count, u.data(), home.stream);
    f(first, count, u.data());
  }
}

// The largest |u - centre|, as the bits of a non-negative double, which are ordered like it.
__global__ void find_largest(const double* u, std::int64_t count, std::int64_t dim, const double* centre,
                             unsigned long long* largest) {
  double mine = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count * dim; i += step)
    mine = fmax(mine, fabs(u[i] - centre[i % dim]));
  for (int h = kWarp / 2; h > 0; h /= 2) mine = fmax(mine, __shfl_xor_sync(0xffffffff, mine, h));
  if (threadIdx.x % kWarp == 0) atomicMax(largest, static_cast<unsigned long long>(__double_as_longlong(mine)));
}

__device__ double warp_sum(double x) {
  for (int h = kWarp / 2; h > 0; h /= 2) x += __shfl_xor_sync(0xffffffff, x, h);
  return x;
}

struct Fp16 {
  using Value = __half;
  static __device__ Value round(double x) { return __double2half(x); }
  static __device__ double exact(Value a) { return static_cast<double>(__half2float(a)); }
};
struct Fp32 {
  using Value = float;
  static __device__ Value round(double x) { return __double2float_rn(x); }
  static __device__ double exact(Value a) { return static_cast<double>(a); }
};

// One warp a point: operands, sums, and the largest residual ratio as the bits of a float.
template <class Type, int kPieces>
__global__ void round_points(const double* u, std::int64_t count, std::int64_t dim, const double* centre,
                             double scale_a, double scale_b, std::int64_t pitch, typename Type::Value* high,
                             typename Type::Value* low, OperandSums* sums, float expected, unsigned* ratio) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  if (i >= count) return;
  OperandSums mine;
  for (std::int64_t t = threadIdx.x % kWarp; t < pitch; t += kWarp) {
    const double x = t < dim ? (u[i * dim + t] - centre[t]) * scale_a * scale_b : 0;
    const auto a = Type::round(x);
    high[i * pitch + t] = a;
    double left = x - Type::exact(a);
    if constexpr (kPieces == 2) {
      const auto b = Type::round(left);
      low[i * pitch + t] = b;
      left -= Type::exact(b);
      mine.piece += Type::exact(b) * Type::exact(b);
    }
    mine.square += x * x;
    mine.residual += left * left;
  }
  mine.square = warp_sum(mine.square);
  mine.residual = warp_sum(mine.residual);
  mine.piece = warp_sum(mine.piece);
  if (threadIdx.x % kWarp != 0) return;
  sums[i] = mine;
  const float lost = mine.square > 0 ? __double2float_ru(sqrt(mine.residual / mine.square)) : 0;
  if (lost <= expected) atomicMax(ratio, __float_as_uint(lost));
}

__global__ void find_terms(const OperandSums* sums, std::int64_t count, LowBound bound, const RowConstants* constants,
                           float* terms, float* bounds) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const bool directionless = constants && constants[i].factor == 0;
  const float b = __double2float_ru(bound.bound(sums[i]));
  bounds[i] = directionless ? 0 : b;
  terms[i] = directionless ? std::numeric_limits<float>::infinity()
                           : __double2float_rd(bound.term(sums[i], static_cast<double>(b)));
}

// The median of each coordinate over some rows spread over the data: an outlier among them moves it little.
std::vector<double> median_row(const Points& points, Home& home) {
  const std::int64_t n = points.count(), d = points.dim();
  const std::int64_t count = std::clamp<std::int64_t>(n / 2, 1, std::min(kCentreRows, batch_rows(d)));
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  for (std::int64_t s = 0; s < count; ++s) list[static_cast<std::size_t>(s)] = s * (n / count);
  const DeviceArray<std::int64_t> rows(count, home);
  const DeviceArray<double> sample(count * d, home);
  check(cudaMemcpyAsync(rows.data(), list.data(), list.size() * sizeof list[0], cudaMemcpyHostToDevice, home.stream));
  load_canonical(points.view(), rows.data(), 0, count, sample.data(), home.stream);
  std::vector<double> values(static_cast<std::size_t>(count * d)), centre(static_cast<std::size_t>(d)),
      column(static_cast<std::size_t>(count));
  check(cudaMemcpyAsync(values.data(), sample.data(), values.size() * sizeof values[0], cudaMemcpyDeviceToHost,
                        home.stream));
  home.stream.wait();
  for (std::size_t t = 0; t < centre.size(); ++t) {
    for (std::size_t s = 0; s < column.size(); ++s) column[s] = values[s * centre.size() + t];
    std::nth_element(column.begin(), column.begin() + count / 2, column.end());
    centre[t] = column[static_cast<std::size_t>(count / 2)];
  }
  return centre;
}

}  // namespace

Frame::Frame(const Metric& metric, const Points& columns, const Points& rows, Home& home)
    : centre_(columns.dim(), home) {
  const bool shifted = metric.term != Term::product;
  const std::vector<double> centre =
      shifted ? median_row(columns, home) : std::vector<double>(static_cast<std::size_t>(columns.dim()));
  check(cudaMemcpyAsync(centre_.data(), centre.data(), centre.size() * sizeof centre[0], cudaMemcpyHostToDevice,
                        home.stream));
  const DeviceArray<unsigned long long> largest(1, home);
  check(cudaMemsetAsync(largest.data(), 0, sizeof(unsigned long long), home.stream));
  const auto measure = [&](const Points& points) {
    for_batches(points, home, [&](std::int64_t, std::int64_t count, const double* u) {
      const std::int64_t blocks = std::clamp<std::int64_t>(count * points.dim() / (16 * kThreads), 1, 4096);
      find_largest<<<static_cast<unsigned>(blocks), kThreads, 0, home.stream>>>(u, count, points.dim(), centre_.data(),
                                                                                largest.data());
      check_launch();
    });
  };
  measure(columns);
  if (&rows != &columns) measure(rows);
  double found = 0;
  check(cudaMemcpyAsync(&found, largest.data(), sizeof found, cudaMemcpyDeviceToHost, home.stream));
  home.stream.wait();
  const int exponent = kLargestExponent - (found > 0 ? std::ilogb(found) : 0);
  exponent_ = std::clamp(exponent, -LowBound::kLargestExponent, LowBound::kLargestExponent);
}

std::int64_t Operands::bytes(std::int64_t count, std::int64_t dim) {
  const std::int64_t pitch = (dim + 7) / 8 * 8;
  // Two fp16 pieces take what fp32 takes. Sums, terms, bounds, a batch of canonical rows, and the frame.
  return 2 * array_bytes(2 * count * pitch) + array_bytes(count * static_cast<std::int64_t>(sizeof(OperandSums))) +
         2 * array_bytes(4 * count) + array_bytes(8 * dim * std::min(batch_rows(dim), count)) + array_bytes(8 * dim) +
         array_bytes(8 * dim * std::min(kCentreRows, batch_rows(dim))) + 4 * kArrayAlignment;
}

Operands::Operands(const Points& points, const Frame& frame, Precision precision, Home& home)
    : pitch_((points.dim() + 7) / 8 * 8), sums_(points.count(), home) {
  const std::int64_t n = points.count(), d = points.dim();
  const std::int64_t value_bytes = precision == Precision::fp32 ? 4 : 2;
  pieces_[0] = DeviceArray<std::byte>(n * pitch_ * value_bytes, home);
  if (precision == Precision::two_piece) pieces_[1] = DeviceArray<std::byte>(n * pitch_ * value_bytes, home);
  const DeviceArray<unsigned> ratio(1, home);
  check(cudaMemsetAsync(ratio.data(), 0, sizeof(unsigned), home.stream));
  // 2^exponent in two factors: neither overflows.
  const double scale_a = std::ldexp(1.0, frame.exponent() / 2),
               scale_b = std::ldexp(1.0, frame.exponent() - frame.exponent() / 2);
  const auto expected = static_cast<float>(rounding(precision));
  for_batches(points, home, [&](std::int64_t first, std::int64_t count, const double* u) {
    const auto run = [&]<class Type, int kPieces>(Type, std::integral_constant<int, kPieces>) {
      using Value = typename Type::Value;
      const auto at = [&](int i) { return reinterpret_cast<Value*>(pieces_[i].data()) + first * pitch_; };
      round_points<Type, kPieces><<<blocks_of_warps(count), kThreads, 0, home.stream>>>(
          u, count, d, frame.centre(), scale_a, scale_b, pitch_, at(0), kPieces == 2 ? at(1) : nullptr,
          sums_.data() + first, expected, ratio.data());
      check_launch();
    };
    switch (precision) {
      case Precision::fp16: return run(Fp16(), std::integral_constant<int, 1>());
      case Precision::two_piece: return run(Fp16(), std::integral_constant<int, 2>());
      case Precision::fp32: return run(Fp32(), std::integral_constant<int, 1>());
    }
  });
  float found = 0;
  check(cudaMemcpyAsync(&found, ratio.data(), sizeof found, cudaMemcpyDeviceToHost, home.stream));
  home.stream.wait();
  residual_ratio_ = static_cast<double>(found);
}

void Operands::settle(const Points& points, const LowBound& bound, Home& home) {
  const std::int64_t n = points.count();
  terms_ = DeviceArray<float>(n, home);
  bounds_ = DeviceArray<float>(n, home);
  find_terms<<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads, 0, home.stream>>>(
      sums_.data(), n, bound, has_directions(points.view().transform) ? points.view().constants : nullptr,
      terms_.data(), bounds_.data());
  check_launch();
  sums_ = {};
}

}  // namespace libknng::cuda
