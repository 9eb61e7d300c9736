// Times the kernels of the fused engine by themselves, with limits that take nothing, and that take a share of the
// pairs.   fused_bench [SIDE]
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/limits.cuh"
#include "tests/gpu/gpu.cuh"

namespace {

using namespace libknng::cuda::fused;
using libknng::cuda::check;

__global__ void fill(__half* operands, std::int64_t count, std::int64_t dim, unsigned seed) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count * dim;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    // Sums of four uniform values, of variance 1.
    float sum = 0;
    std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL + seed;
    for (int j = 0; j < 4; ++j) {
      x ^= x >> 31;
      x *= 0xBF58476D1CE4E5B9ULL;
      sum += static_cast<float>(x >> 40) * 0x1p-24F;
    }
    operands[i] = __float2half((sum - 2) * 1.732F);
  }
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

}  // namespace

int main(int argc, char** argv) {
  gpu::need_device();
  const int side = argc > 1 ? std::atoi(argv[1]) : 65536;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d x %d pairs, both sides; TFLOP/s\n%5s %10s %10s %10s %10s %14s\n", properties.name, side, side,
              "terms", "none", "1e-5", "1e-4", "1e-3", "portable none");
  for (const int terms : {64, 128, 192, 256, 320, 784, 2048}) {
    const int capacity = 256;
    const auto lists = static_cast<std::size_t>(side);
    gpu::Array<__half> a(lists * static_cast<std::size_t>(terms)), b(lists * static_cast<std::size_t>(terms));
    fill<<<1024, 256>>>(a.get(), side, terms, 1);
    fill<<<1024, 256>>>(b.get(), side, terms, 2);
    std::vector<float> of_lists(lists);
    gpu::Array<float> row_terms(of_lists), cutoffs(lists), dropped(lists);
    gpu::Array<libknng::cuda::Candidate> out(2 * lists * static_cast<std::size_t>(capacity));
    gpu::Array<std::int32_t> counts(2 * lists);
    gpu::Array<ListLimit> row_limits(lists + kBlockRows), column_limits(lists + kBlockRows);
    gpu::Array<std::uint8_t> again(2 * lists);
    gpu::Array<unsigned> overflown(kPasses);
    FusedJob job{};
    job.both = true;
    for (auto* s : {&job.rows, &job.columns}) {
      s->rows = s->columns = side;
      s->row_terms = s->column_terms = row_terms.get();
      s->capacity = capacity;
      s->cutoffs = cutoffs.get();
      s->dropped = dropped.get();
      s->out = out.get() + (s == &job.rows ? 0 : lists * static_cast<std::size_t>(capacity));
      s->counts = counts.get() + (s == &job.rows ? 0 : lists);
    }
    job.columns.side = libknng::cuda::Side::columns;
    job.row_operands = reinterpret_cast<const std::byte*>(a.get());
    job.column_operands = reinterpret_cast<const std::byte*>(b.get());
    job.stride = job.terms = terms;
    job.row_limits = row_limits.get();
    job.column_limits = column_limits.get();
    job.rows_again = again.get();
    job.columns_again = again.get() + lists;
    cut_into_units(job, properties.multiProcessorCount);
    job.overflown = overflown.get();
    const auto tflops = [&](float ms) { return 2e-9 * side * side * terms / static_cast<double>(ms); };
    // Products are about normal, of variance `terms`; a pair is taken where -2 acc is below the cut-off.
    const auto with_cutoff = [&](double deviations) {
      std::fill(of_lists.begin(), of_lists.end(),
                static_cast<float>(-2 * deviations * std::sqrt(static_cast<double>(terms))));
      gpu::copy(cutoffs.get(), of_lists.data(), lists * sizeof(float));
    };
    const auto time = [&](auto kernel) {
      return tflops(median_ms([&] {
        start_limits(job, nullptr);
        kernel(job, properties.multiProcessorCount, nullptr);
      }));
    };
    const bool hopper = can_run_hopper(properties.major);
    std::printf("%5d", terms);
    for (const double deviations : {1e4, 4.26, 3.72, 3.09}) {
      with_cutoff(deviations);
      std::printf(" %10.0f", hopper ? time(run_hopper) : 0);
    }
    with_cutoff(1e4);
    std::printf(" %14.0f\n", time(run_portable));
  }
  return 0;
}
