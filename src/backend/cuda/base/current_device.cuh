// The device that a thread's calls of CUDA go to. Knows nothing of what they do.
#pragma once

#include <cudaTypedefs.h>

namespace libknng::cuda {

// What the thread does meanwhile is not part of what it captures of a stream of its own, and is allowed.
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
// the runtime's, one of the caller's own, or none. The runtime would give a thread that has none one of device 0, with
// some hundred megabytes of its memory, so the driver is asked.
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
