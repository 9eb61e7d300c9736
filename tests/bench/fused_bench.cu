// Times the kernels of the fused engine by themselves, on normally distributed points as they come and arranged
// (arrange.cuh), with limits that take nothing, and that take a share of the pairs.   fused_bench [SIDE [TERMS]]
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/engines/operands.cuh"
#include "backend/cuda/fused/arrange.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/limits.cuh"
#include "tests/gpu/gpu.cuh"

namespace {

using namespace libknng::cuda::fused;
using libknng::cuda::check;
using libknng::cuda::in_lines;

// Products of bytes are in units of 1 / kUnit^2.
constexpr float kUnit = 24;
__device__ void put(__half* to, float x) { *to = __float2half(x); }
__device__ void put(std::int8_t* to, float x) { *to = static_cast<std::int8_t>(__float2int_rn(kUnit * x)); }
__device__ int as_number(std::int8_t x) { return x; }
__device__ float as_number(__half x) { return __half2float(x); }

template <class Value>
__global__ void fill(Value* operands, std::int64_t values, unsigned seed) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < values;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    // Sums of four uniform values, of variance 1.
    float sum = 0;
    std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL + seed;
    for (int j = 0; j < 4; ++j) {
      x ^= x >> 31;
      x *= 0xBF58476D1CE4E5B9ULL;
      sum += static_cast<float>(x >> 40) * 0x1p-24F;
    }
    put(operands + i, (sum - 2) * 1.732F);
  }
}

// Squares of norms of points, a warp each.
template <class Value, class Number>
__global__ void measure(const Value* operands, int count, int dim, std::int64_t stride, Number* squares) {
  const int point = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  if (point >= count) return;
  Number sum = 0;
  for (int i = static_cast<int>(threadIdx.x % 32); i < dim; i += 32) {
    const Number x = as_number(operands[point * stride + i]);
    sum += x * x;
  }
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, apart);
  if (threadIdx.x % 32 == 0) squares[point] = sum;
}

// Normally distributed points and the squares of their norms. stride: in values.
template <class Value, class Number>
struct Points {
  gpu::Array<Value> operands;
  gpu::Array<Number> squares;
  std::vector<Number> of_host;

  Points(int count, int dim, std::int64_t stride, unsigned seed)
      : operands(count * stride), squares(count), of_host(static_cast<std::size_t>(count)) {
    fill<<<1024, 256>>>(operands.get(), count * stride, seed);
    measure<<<static_cast<unsigned>((count + 7) / 8), 256>>>(operands.get(), count, dim, stride, squares.get());
    gpu::copy(of_host.data(), squares.get(), of_host.size() * sizeof(Number));
  }
};

// A squared distance below which are as many of the distances from a point (its norm's square is `square`) to normally
// distributed ones as lie above `deviations` in a normal distribution. They follow a noncentral chi-squared
// distribution: Patnaik's approximation, and Wilson's and Hilferty's of that.
float cutoff_of(float square, int dim, double deviations) {
  const double one = dim + double{square}, two = dim + 2 * double{square}, scale = two / one, freedom = one * one / two;
  const double part = 2 / (9 * freedom), root = std::max(1 - part - deviations * std::sqrt(part), 0.0);
  return static_cast<float>(scale * freedom * root * root * root);
}

float median_ms(const auto& f) {
  cudaEvent_t begin{}, end{};
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::array<float, 5> times{};
  for (std::size_t i = 0; i <= times.size(); ++i) {
    check(cudaEventRecord(begin));
    f();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    if (i > 0) times[i - 1] = ms;  // one to warm up
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class Value, class Number>
void bench(int side, int terms, bool arranged, const cudaDeviceProp& properties) {
  constexpr bool kBytes = sizeof(Value) == 1;
  const int capacity = 256, halves = terms * static_cast<int>(sizeof(Value)) / 2;
  const auto lists = static_cast<std::size_t>(side);
  const std::int64_t stride = in_lines(halves), bytes = in_tiles(side) * stride * 2;
  const Points<Value, Number> a(side, terms, stride * 2 / std::int64_t{sizeof(Value)}, 1),
      b(side, terms, stride * 2 / std::int64_t{sizeof(Value)}, 2);
  gpu::Array<std::uint16_t> row_order(in_tiles(side) + kBlockRows), column_order(in_tiles(side));
  gpu::Array<std::byte> arranged_a(bytes), arranged_b(bytes);
  gpu::Array<float> cutoffs(2 * lists), dropped(lists);
  gpu::Array<libknng::cuda::Candidate> out(2 * lists * static_cast<std::size_t>(capacity));
  gpu::Array<std::int32_t> counts(2 * lists);
  gpu::Array<ListLimit<Number>> row_limits(lists + kBlockRows), column_limits(lists + kBlockRows), least(side);
  gpu::Array<std::uint8_t> again(2 * lists);
  gpu::Array<unsigned> overflown(kMostPasses);
  FusedJob<Number> job{};
  job.both = true;
  for (auto* s : {&job.rows, &job.columns}) {
    const bool is_rows = s == &job.rows;
    s->rows = s->columns = side;
    s->row_terms = reinterpret_cast<const float*>((is_rows ? a : b).squares.get());
    s->column_terms = reinterpret_cast<const float*>((is_rows ? b : a).squares.get());
    s->capacity = capacity;
    s->cutoffs = cutoffs.get() + (is_rows ? 0 : lists);
    s->dropped = dropped.get();
    s->out = out.get() + (is_rows ? 0 : lists * static_cast<std::size_t>(capacity));
    s->counts = counts.get() + (is_rows ? 0 : lists);
  }
  job.columns.side = libknng::cuda::Side::columns;
  const auto* const of_rows = reinterpret_cast<const std::byte*>(a.operands.get());
  const auto* const of_columns = reinterpret_cast<const std::byte*>(b.operands.get());
  job.row_operands = arranged ? arranged_a.get() : of_rows;
  job.column_operands = arranged ? arranged_b.get() : of_columns;
  job.row_order = arranged ? row_order.get() : nullptr;
  job.column_order = arranged ? column_order.get() : nullptr;
  job.column_least = least.get();
  job.stride = stride;
  job.terms = halves;
  job.row_limits = row_limits.get();
  job.column_limits = column_limits.get();
  job.rows_again = again.get();
  job.columns_again = again.get() + lists;
  cut_into_units(job, properties.multiProcessorCount);
  job.overflown = overflown.get();
  const auto tflops = [&](float ms) { return 2e-9 * side * side * terms / static_cast<double>(ms); };
  const auto with_cutoffs = [&](double deviations) {
    const float squared_unit = kBytes ? kUnit * kUnit : 1;
    std::vector<float> values;
    for (const auto* points : {&a, &b})
      for (const Number square : points->of_host)
        values.push_back(squared_unit * cutoff_of(static_cast<float>(square) / squared_unit, terms, deviations));
    gpu::copy(cutoffs.get(), values.data(), values.size() * sizeof(float));
  };
  const auto time = [&](Kernel<Number> kernel) {
    return tflops(median_ms([&] {
      start_limits(job, nullptr);
      if (arranged) {
        arrange({of_rows, side, job.row_order, arranged_a.get()},
                {of_columns, side, job.column_order, arranged_b.get()}, stride, halves, stride, nullptr);
      }
      kernel(job, properties.multiProcessorCount, nullptr);
    }));
  };
  const bool hopper = can_run_hopper(properties.major);
  std::printf("%5d %5s %8s", terms, kBytes ? "bytes" : "fp16", arranged ? "arranged" : "as is");
  double taken = 0;
  for (const double deviations : {1e4, 4.26, 3.72, 3.09}) {
    with_cutoffs(deviations);
    std::printf(" %10.0f", hopper ? time(run_hopper) : 0);
    if (deviations != 3.72) continue;
    std::vector<std::int32_t> found(2 * lists);
    gpu::copy(found.data(), counts.get(), found.size() * sizeof(std::int32_t));
    taken = std::accumulate(found.begin(), found.end(), 0.0) / static_cast<double>(2 * lists) / side;
  }
  with_cutoffs(1e4);
  std::printf(" %14.0f   %.1e\n", time(run_portable), taken);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  gpu::need_device();
  const int side = argc > 1 ? std::atoi(argv[1]) : 65536;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d x %d pairs, both sides; TFLOP/s\n%5s %5s %8s %10s %10s %10s %10s %14s   %s\n", properties.name,
              side, side, "terms", "of", "order", "none", "1e-5", "1e-4", "1e-3", "portable none", "taken of 1e-4");
  std::vector<int> all_terms{64, 128, 192, 256, 320, 784, 2048};
  if (argc > 2) all_terms = {std::atoi(argv[2])};
  for (const int terms : all_terms)
    for (const bool arranged : {false, true}) {
      bench<__half, float>(side, terms, arranged, properties);
      bench<std::int8_t, std::int32_t>(side, terms, arranged, properties);
    }
  return 0;
}
