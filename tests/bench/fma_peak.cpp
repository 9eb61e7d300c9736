#include "fma_peak.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

// This file alone is compiled with contraction: a * b + c of vectors becomes one instruction where there is one.

namespace bench {
namespace {

// Independent sums: more than latency times units of today's processors (4 x 2), and no more than the registers hold.
constexpr int kSums = 12;
constexpr long kSteps = 1L << 20;  // one to two milliseconds: seldom interrupted

template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using): GCC loses the attribute there
};

// Inlined into functions that differ in nothing but the instructions they may use.
template <class T, int kBytes>
[[gnu::always_inline]] inline double fma_loop(T factor) {
  using Vector = typename VectorOf<T, kBytes>::type;
  Vector sum[kSums];
  const Vector a = Vector{} + factor;
  for (int i = 0; i < kSums; ++i) sum[i] = Vector{} + static_cast<T>(i);
  for (long step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sum[i] = sum[i] * a + a;
  }
  double all = 0;
  for (const Vector& v : sum)
    for (std::size_t lane = 0; lane < kBytes / sizeof(T); ++lane) all += static_cast<double>(v[lane]);
  return all;
}

#ifdef __x86_64__
[[gnu::target("avx512f,fma"), gnu::noinline]] double fp32_avx512(float a) { return fma_loop<float, 64>(a); }
[[gnu::target("avx512f,fma"), gnu::noinline]] double fp64_avx512(double a) { return fma_loop<double, 64>(a); }
[[gnu::target("avx2,fma"), gnu::noinline]] double fp32_avx2(float a) { return fma_loop<float, 32>(a); }
[[gnu::target("avx2,fma"), gnu::noinline]] double fp64_avx2(double a) { return fma_loop<double, 32>(a); }
#endif
[[gnu::noinline]] double fp32_baseline(float a) { return fma_loop<float, 16>(a); }
[[gnu::noinline]] double fp64_baseline(double a) { return fma_loop<double, 16>(a); }

struct Loops {
  const char* target;
  int bytes;
  double (*fp32)(float);
  double (*fp64)(double);
};

Loops best_loops() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {"avx512", 64, fp32_avx512, fp64_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {"avx2", 32, fp32_avx2, fp64_avx2};
#endif
  return {"baseline", 16, fp32_baseline, fp64_baseline};
}

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Processor time of the slowest of that many threads, which begin together. Time in which the system ran something else
// on the core does not count, so the peak is right on a busy machine as well.
template <class Run>
double timed(int threads, Run run) {
  std::atomic<int> missing{threads};
  std::atomic<double> sink{0};
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  std::vector<std::jthread> team;
  team.reserve(seconds.size());
  for (double& taken : seconds) {
    team.emplace_back([&] {
      missing.fetch_sub(1);
      while (missing.load() > 0) std::this_thread::yield();
      const double start = thread_seconds();
      sink.store(run());
      taken = thread_seconds() - start;
    });
  }
  team.clear();
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace

Peak measure_peak(int threads, int repeats) {
  const Loops loops = best_loops();
  Peak peak{threads, 0, 0, loops.target};
  const double bytes = 2.0 * kSteps * kSums * loops.bytes * threads * 1e-9;  // by element size: 10^9 operations
  for (int i = 0; i < repeats; ++i) {
    peak.fp32 = std::max(peak.fp32, bytes / 4 / timed(threads, [&] { return loops.fp32(0.5f); }));
    peak.fp64 = std::max(peak.fp64, bytes / 8 / timed(threads, [&] { return loops.fp64(0.5); }));
  }
  return peak;
}

}  // namespace bench
