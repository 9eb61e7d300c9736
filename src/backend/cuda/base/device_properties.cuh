// Properties of a device that never change. The driver takes milliseconds to answer, so it is asked once in a process.
// Knows nothing of what a device is wanted for.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace libknng::cuda {

struct DeviceProperties {
  char name[256] = {};
  std::int64_t memory = 0;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int shared_bytes = 0;                          // of a block that asks for the most
  double clock = 0;                              // Hz, at most; 0: the driver does not say
  int singles_a_cycle = 0, doubles_a_cycle = 0;  // instructions of a multiprocessor on fp32, on fp64

  // Of chips for computing; others have 2 lanes for fp64.
  bool has_fast_doubles() const noexcept { return doubles_a_cycle >= 32; }
};

// Any threads may ask at the same time. A failure is not remembered.
cudaError_t find_properties(int device, DeviceProperties& out) noexcept;
// A failure is a CudaError.
DeviceProperties properties_of(int device);
// For plans, which have nothing to say of a failure: zeros then, and what is wrong is found out when the device is
// opened.
DeviceProperties properties_if_known(int device) noexcept;

// Whether the library was compiled for the current device.
bool has_kernels() noexcept;

}  // namespace libknng::cuda
