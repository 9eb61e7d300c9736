#include "backend/cuda/base/current_device.cuh"

#include <cuda_runtime.h>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/driver.cuh"

namespace libknng::cuda {
namespace {

struct Driver {
  PFN_cuThreadExchangeStreamCaptureMode_v10010 exchange_mode =
      driver_function<PFN_cuThreadExchangeStreamCaptureMode_v10010>("cuThreadExchangeStreamCaptureMode", 10010);
  PFN_cuCtxGetCurrent_v4000 current = driver_function<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000);
  PFN_cuCtxSetCurrent_v4000 set_current = driver_function<PFN_cuCtxSetCurrent_v4000>("cuCtxSetCurrent", 4000);
  PFN_cuDevicePrimaryCtxRetain_v7000 retain =
      driver_function<PFN_cuDevicePrimaryCtxRetain_v7000>("cuDevicePrimaryCtxRetain", 7000);
  PFN_cuDevicePrimaryCtxRelease_v11000 release =
      driver_function<PFN_cuDevicePrimaryCtxRelease_v11000>("cuDevicePrimaryCtxRelease", 11000);

  bool complete() const { return exchange_mode && current && set_current && retain && release; }
};

const Driver& driver() {
  static const Driver functions;
  check(functions.complete() ? cudaSuccess : cudaErrorInsufficientDriver);
  return functions;
}

}  // namespace

OutsideCapture::OutsideCapture() { check(driver().exchange_mode(&mode_)); }
OutsideCapture::~OutsideCapture() { driver().exchange_mode(&mode_); }

CurrentDevice::CurrentDevice(int device) {
  check(driver().current(&before_));
  check(cudaInitDevice(device, 0, 0));
  CUcontext its = nullptr;
  check(driver().retain(&its, device));
  driver().release(device);  // the runtime has it as well
  check(driver().set_current(its));
}

CurrentDevice::~CurrentDevice() { driver().set_current(before_); }

}  // namespace libknng::cuda
