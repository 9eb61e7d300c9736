// The device that a thread's calls of CUDA go to. Knows nothing of what they do.
#pragma once

#include <cudaTypedefs.h>

namespace libknng::cuda {

// While it lives the thread may call anything, though it captures a stream of its own: nothing of it is captured.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Makes a device current for as long as it lives. The thread may be the caller's: its context comes back, be it one of
// the runtime's, one of the caller's own, or none. The driver is asked: the runtime would
// give a thread without a context one on device 0, which takes some hundred megabytes there.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  const OutsideCapture outside_;
  CUcontext before_ = nullptr;
};

}  // namespace libknng::cuda
