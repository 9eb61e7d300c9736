// Hands out arrays of device memory and counts their bytes; without a device it only counts. What is made of its arrays
// is written once: with a device it is what a session holds, without one what the plan says that it will. Knows nothing
// of what arrays are for.
#pragma once

#include <cstdint>

#include "backend/cuda/base/memory.cuh"

namespace libknng::cuda {

class ArraySource {
 public:
  // Counts.
  ArraySource() noexcept = default;
  // Hands out as well.
  explicit ArraySource(DeviceContext& context) noexcept : context_(&context) {}

  template <class T>
  DeviceArray<T> take(std::int64_t count, Reach reach = Reach::own) {
    bytes_ += array_bytes(count * static_cast<std::int64_t>(sizeof(T)));
    return context_ ? DeviceArray<T>(count, *context_, reach) : DeviceArray<T>();
  }
  // Of all arrays so far.
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  DeviceContext* context_ = nullptr;
  std::int64_t bytes_ = 0;
};

// A Space, which takes all of its arrays from a source, with those of a device; and what it will hold.
template <class Space, class... Arguments>
Space taken(DeviceContext& context, const Arguments&... arguments) {
  ArraySource source(context);
  return Space(arguments..., source);
}
template <class Space, class... Arguments>
std::int64_t bytes_of(const Arguments&... arguments) {
  ArraySource count;
  const Space space(arguments..., count);
  return count.bytes();
}

}  // namespace libknng::cuda
