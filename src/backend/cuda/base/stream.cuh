// What work is put on and waited for: streams, events. Knows nothing of what the work is.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/base/check.cuh"

namespace libknng::cuda {

// A stream that does not wait for the default one. Those that are done are kept for later: making and ending one takes
// as long as a launch or two.
class Stream {
 public:
  enum class Priority { usual, high };
  explicit Stream(Priority priority = Priority::usual);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const noexcept {
    return stream_;
  }  // NOLINT(google-explicit-constructor): as the API takes it
  void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
  const Priority priority_;
  const unsigned long long context_;
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream) const { check(cudaEventRecord(event_, stream)); }
  void wait() const { check(cudaEventSynchronize(event_)); }
  bool is_reached() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaSuccess) return true;
    if (status != cudaErrorNotReady) check(status);
    cudaGetLastError();  // no failure: it must not look like one of what comes next
    return false;
  }
  // What is put on the stream from now on waits for the event.
  void hold(const Stream& stream) const { check(cudaStreamWaitEvent(stream, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

// Waits, at its end, for what is on a stream by then: before memory goes that the stream uses, whatever happened.
class UntilDone {
 public:
  explicit UntilDone(const Stream& stream) : stream_(stream) {}
  ~UntilDone() { cudaStreamSynchronize(stream_); }
  UntilDone(const UntilDone&) = delete;
  UntilDone& operator=(const UntilDone&) = delete;

 private:
  const Stream& stream_;
};

}  // namespace libknng::cuda
