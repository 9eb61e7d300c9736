// The probe of this machine's product units: they agree with what bounds suppose, in any thread; and one that is taken
// for better than it is does not. Prints how long it takes.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/engines/unit_probe.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "tests/gpu/gpu.cuh"

using namespace libknng::cuda;
using gpu::expect;

namespace {

constexpr std::int32_t kUnits = KNNG_UNIT_FP16 | KNNG_UNIT_FP32 | KNNG_UNIT_BYTES | KNNG_UNIT_FUSED;
constexpr std::int32_t kAll = kUnits | KNNG_UNIT_FP64;

double milliseconds(const std::chrono::steady_clock::time_point& since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

int main() {
  gpu::need_device();
  DeviceProperties properties;
  check(find_properties(0, properties));
  const TensorCores chip = tensor_cores_of(properties.major);
  for (const std::int32_t unit : {KNNG_UNIT_FP16, KNNG_UNIT_FP32, KNNG_UNIT_BYTES, KNNG_UNIT_FUSED, KNNG_UNIT_FP64})
    for (int turn = 0; turn < 2; ++turn) {
      const auto start = std::chrono::steady_clock::now();
      const std::string objection = objection_to_unit(unit, 0, chip);
      std::printf("unit %d, %s: %.1f ms\n", unit, turn == 0 ? "with its kernels" : "again", milliseconds(start));
      expect(objection.empty(), "%s", objection.c_str());
    }
  TensorCores better = chip;
  better.lost = 0x1p-28;
  for (const std::int32_t unit : {KNNG_UNIT_FP16, KNNG_UNIT_FUSED}) {
    if (unit == KNNG_UNIT_FUSED && !fused::has_kernel(properties.major)) continue;
    const std::string objection = objection_to_unit(unit, 0, better);
    expect(!objection.empty(), "the probe takes unit %d for better than it is", unit);
    std::printf("a better one: %s\n", objection.c_str());
  }

  std::vector<FoundUnits> found(4);
  {
    std::vector<std::jthread> threads;
    for (FoundUnits& units : found) threads.emplace_back([&units] { units = find_units(0, kAll); });
  }
  for (const FoundUnits& units : found) {
    const std::int32_t expected = properties.has_fast_doubles() ? kAll : kUnits;
    expect(units.objection.empty() && units.units.usable == expected, "%s", units.objection.c_str());
    expect(units.units.lost == chip.lost && units.units.shortest == chip.shortest, "another chip");
  }
  const auto start = std::chrono::steady_clock::now();
  expect(find_units(0, KNNG_UNIT_BYTES).units.usable == KNNG_UNIT_BYTES, "not what was asked for");
  std::printf("known: %.4f ms\n", milliseconds(start));
  return gpu::result();
}
