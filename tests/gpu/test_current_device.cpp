// A build leaves the calling thread's context alone: none, the runtime's, or one of the thread's own. A thread without
// one gets none, of whichever device: contexts take some hundred megabytes.
#include <cudaTypedefs.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "backend/cuda/base/driver.cuh"
#include "knng.h"
#include "tests/gpu/gpu.cuh"
#include "tests/gpu/graphs.cuh"

using gpu::check;
using gpu::expect;

namespace {

template <class Function>
Function needed(const char* name, unsigned version) {
  const auto found = libknng::cuda::driver_function<Function>(name, version);
  expect(found != nullptr, "the driver has no %s", name);
  return found;
}

CUcontext context_of_thread() {
  static const auto ask = needed<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000);
  CUcontext context = nullptr;
  expect(ask(&context) == CUDA_SUCCESS, "cuCtxGetCurrent fails");
  return context;
}

bool has_context(int device) {
  static const auto ask = needed<PFN_cuDevicePrimaryCtxGetState_v7000>("cuDevicePrimaryCtxGetState", 7000);
  unsigned flags = 0;
  int active = 0;
  expect(ask(device, &flags, &active) == CUDA_SUCCESS, "cuDevicePrimaryCtxGetState fails");
  return active != 0;
}

void build_on(int device, const char* where) {
  std::vector<float> x(600 * 8);
  std::uint32_t seed = 5u;
  std::generate(x.begin(), x.end(), [&seed] {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<float>(seed >> 25);
  });
  const knng_matrix rows = knng_packed(KNNG_F32, 600, 8, x.data());
  knng* const h = gpu::handle(("cuda:" + std::to_string(device)).c_str(), "euclidean");
  expect(knng_borrow(h, &rows, nullptr, nullptr) == KNNG_OK, "%s: %s", where, knng_last_error());
  knng_graph* graph = nullptr;
  expect(knng_build(h, 5, nullptr, &graph, nullptr) == KNNG_OK, "%s: %s", where, knng_last_error());
  knng_graph_destroy(graph);
  knng_destroy(h);
}

}  // namespace

int main() {
  gpu::need_device();
  int count = 0;
  check(cudaGetDeviceCount(&count));  // which makes no context
  const int last = count - 1;

  build_on(last, "a thread without context");
  expect(context_of_thread() == nullptr, "a thread without context has one after a build");
  int device = -1;
  check(cudaGetDevice(&device));
  expect(device == 0, "device %d is current after a build, not 0", device);
  for (int other = 0; other < last; ++other)
    expect(!has_context(other), "a build on device %d made a context on device %d", last, other);

  std::thread([=] {
    check(cudaSetDevice(0));
    const CUcontext before = context_of_thread();
    build_on(last, "the runtime's context");
    expect(context_of_thread() == before, "the runtime's context of device 0 is not current after a build");
  }).join();

  std::thread([=] {
    const auto create = needed<PFN_cuCtxCreate_v3020>("cuCtxCreate", 3020);
    const auto end = needed<PFN_cuCtxDestroy_v4000>("cuCtxDestroy", 4000);
    CUcontext own = nullptr;
    expect(create(&own, 0, 0) == CUDA_SUCCESS, "cuCtxCreate fails");
    build_on(last, "a context of the thread's own");
    expect(context_of_thread() == own, "the thread's own context is not current after a build");
    expect(end(own) == CUDA_SUCCESS, "cuCtxDestroy fails");
  }).join();
  return gpu::result();
}
