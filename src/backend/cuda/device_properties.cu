#include "backend/cuda/device_properties.cuh"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <optional>

namespace libknng::cuda {
namespace {

constexpr int kSinglesACycle = 128;      // of a multiprocessor; where it has 64, twice as many doubles are claimed
constexpr std::size_t kRemembered = 64;  // devices; more are asked each time

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
  out.clock = 1e3 * ask(cudaDevAttrClockRate);
  const int singles_to_doubles = ask(cudaDevAttrSingleToDoublePrecisionPerfRatio);
  out.doubles_a_cycle = kSinglesACycle / std::clamp(singles_to_doubles, 1, kSinglesACycle);
  const std::lock_guard lock(mutex);
  if (at < known.size()) known[at] = out;
  return cudaSuccess;
}

bool has_kernels() noexcept {
  cudaFuncAttributes attributes{};
  const bool has = cudaFuncGetAttributes(&attributes, any_kernel) == cudaSuccess;
  if (!has) cudaGetLastError();
  return has;
}

}  // namespace libknng::cuda
