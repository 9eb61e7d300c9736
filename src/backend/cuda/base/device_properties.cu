#include "backend/cuda/base/device_properties.cuh"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <optional>

#include "backend/cuda/base/check.cuh"

namespace libknng::cuda {
namespace {

constexpr std::size_t kRemembered = 64;  // devices; more are asked each time

// Of the multiprocessors since Turing ("CUDA Programming Guide", table of compute capabilities, "arithmetic
// instructions"): 7.5 and 8.0 have 64 lanes, the others 128.
int singles_of(int major, int minor) { return major < 8 || (major == 8 && minor == 0) ? 64 : 128; }

// Compiled for what all are compiled for.
__global__ void any_kernel() {}

}  // namespace

cudaError_t find_properties(int device, DeviceProperties& out) noexcept {
  static std::mutex mutex;
  static std::array<std::optional<DeviceProperties>, kRemembered> known;
  const auto at = static_cast<std::size_t>(device);
  {
    const std::lock_guard lock(mutex);
    if (at < known.size() && known[at]) {
      out = *known[at];
      return cudaSuccess;
    }
  }
  cudaDeviceProp p{};  // asked without the lock: it takes long, and a fork meanwhile would leave it locked
  const cudaError_t status = cudaGetDeviceProperties(&p, device);
  if (status != cudaSuccess) return status;
  const auto ask = [device](cudaDeviceAttr attribute) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess) return value;
    cudaGetLastError();
    return 0;
  };
  std::snprintf(out.name, sizeof out.name, "%s", p.name);
  out.memory = static_cast<std::int64_t>(p.totalGlobalMem);
  out.major = p.major;
  out.minor = p.minor;
  out.multiprocessors = p.multiProcessorCount;
  out.shared_bytes = static_cast<int>(p.sharedMemPerBlockOptin);
  out.clock = 1e3 * ask(cudaDevAttrClockRate);
  const int singles_to_doubles = ask(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  out.singles_a_cycle = singles_of(p.major, p.minor);
  out.doubles_a_cycle = out.singles_a_cycle / std::clamp(singles_to_doubles, 1, out.singles_a_cycle);
  const std::lock_guard lock(mutex);
  if (at < known.size()) known[at] = out;
  return cudaSuccess;
}

DeviceProperties properties_of(int device) {
  DeviceProperties properties;
  check(find_properties(device, properties));
  return properties;
}

DeviceProperties properties_if_known(int device) noexcept {
  DeviceProperties properties;
  if (find_properties(device, properties) == cudaSuccess) return properties;
  cudaGetLastError();
  return {};
}

bool has_kernels() noexcept {
  cudaFuncAttributes attributes{};
  const bool has = cudaFuncGetAttributes(&attributes, any_kernel) == cudaSuccess;
  if (!has) cudaGetLastError();
  return has;
}

}  // namespace libknng::cuda
