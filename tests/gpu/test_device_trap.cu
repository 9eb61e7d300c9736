// A device that fails in the middle of a build, by a kernel of the host program's, through the public API: from then on
// every call to CUDA in this process fails. The build says so, its rows are as they were, and the CPU goes on.
#include <cstring>
#include <string>
#include <vector>

#include "knng.h"
#include "tests/gpu/gpu.cuh"
#include "tests/gpu/graphs.cuh"

using gpu::built;
using gpu::check;
using gpu::expect;
using gpu::handle;
using gpu::Result;

namespace {

__global__ void trap() { asm volatile("trap;"); }

struct Trap {
  cudaStream_t stream = nullptr;
  bool launched = false;
};

// While tiles are evaluated.
std::int32_t report(void* user, const char* stage, double, double) {
  auto& t = *static_cast<Trap*>(user);
  if (!t.launched && std::strcmp(stage, "distances") == 0) {
    trap<<<1, 1, 0, t.stream>>>();
    t.launched = true;
  }
  return 0;
}

}  // namespace

int main() {
  gpu::need_device();
  const std::int64_t n = 150'000, d = 64;
  std::vector<float> x(static_cast<std::size_t>(n * d));
  std::uint32_t seed = 45u;
  for (float& value : x) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) * 0x1p-24f;
  }
  const std::vector<float> before = x;
  knng* h = handle("cuda:0", "euclidean");
  const knng_matrix m = knng_packed(KNNG_F32, n, d, x.data());
  expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "%s", knng_last_error());
  const Result expected = built(h, 10, "while all is well");

  Trap t;
  cudaFuncAttributes trap_attributes;  // has it there, so that its launch does not wait for the build
  check(cudaFuncGetAttributes(&trap_attributes, trap));
  check(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
  knng_control c{};
  c.struct_size = sizeof c;
  c.interval_ms = 1;
  c.progress = report;
  c.user = &t;
  knng_graph* g = nullptr;
  const knng_status status = knng_build(h, 10, &c, &g, nullptr);
  expect(t.launched, "the build was over before anybody could disturb it");
  expect(status == KNNG_ERR_DEVICE && !g, "status %d: %s", status, knng_last_error());
  expect(std::strstr(knng_last_error(), "cuda:0") != nullptr, "no device is named: %s", knng_last_error());
  std::printf("%s\n", knng_last_error());
  expect(std::memcmp(x.data(), before.data(), x.size() * sizeof(float)) == 0, "rows have changed");
  expect(knng_build(h, 10, nullptr, &g, nullptr) == KNNG_ERR_DEVICE && !g, "the device works again: %s",
         knng_last_error());
  expect(knng_set(h, "device", "cpu", nullptr) == KNNG_OK, "%s", knng_last_error());
  expect(knng_build(h, 10, nullptr, &g, nullptr) == KNNG_OK, "on the CPU: %s", knng_last_error());
  knng_matrix ids{}, values{};
  ids.struct_size = values.struct_size = sizeof ids;
  expect(g && knng_graph_view(g, &ids, &values, nullptr) == KNNG_OK &&
             std::memcmp(ids.data, expected.ids.data(), expected.ids.size()) == 0 &&
             std::memcmp(values.data, expected.values.data(), expected.values.size()) == 0,
         "another graph on the CPU");
  knng_graph_destroy(g);
  knng_destroy(h);
  return gpu::result();
}
