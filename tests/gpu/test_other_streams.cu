// Builds do not wait for streams of the host program's that are at work, but a process's first, and those whose kernels
// have not been used: CUDA brings a kernel to a device when it is first wanted, and may wait for the device then. With
// --eager it loads all at once, and a metric's first build waits for nobody either.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "knng.h"
#include "tests/gpu/gpu.cuh"
#include "tests/gpu/graphs.cuh"
#include "tests/gpu/spin.cuh"

using gpu::built;
using gpu::check;
using gpu::expect;
using gpu::handle;
using gpu::kSecond;
using gpu::Result;
using gpu::spin;

int main(int argc, char** argv) {
  const bool eager = argc > 1 && std::strcmp(argv[1], "--eager") == 0;
  if (eager) setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  gpu::need_device();
  const std::int64_t n = 600, d = 24;
  std::vector<float> x(static_cast<std::size_t>(n * d));
  std::uint32_t seed = 17u;
  for (float& value : x) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 25);
  }
  const knng_matrix m = knng_packed(KNNG_F32, n, d, x.data());
  cudaStream_t own = nullptr;
  check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  spin<<<1, 1, 0, own>>>(0);
  check(cudaStreamSynchronize(own));
  knng* h = handle("cuda:0", "euclidean");
  expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "%s", knng_last_error());
  built(h, 8, "the first build");  // has page-locked memory made, and a cuBLAS handle
  for (const char* metric : {"euclidean", "cosine", "manhattan", "spearman", "canberra", "jensenshannon"}) {
    expect(knng_set(h, "metric", metric, nullptr) == KNNG_OK, "%s", knng_last_error());
    if (!eager) built(h, 8, metric);
    spin<<<1, 1, 0, own>>>(2 * kSecond);
    check(cudaGetLastError());
    const Result beside = built(h, 8, metric);
    // Under compute-sanitizer, where runs are small, kernels of several streams run one after the other.
    expect(small_run() || cudaStreamQuery(own) == cudaErrorNotReady, "%s waited for another stream", metric);
    check(cudaStreamSynchronize(own));
    expect(built(h, 8, metric) == beside, "%s: another graph", metric);
  }
  knng_destroy(h);
  check(cudaStreamDestroy(own));
  return gpu::result();
}
