// Arrays carved from one piece of device memory that the caller owns, each 256-byte aligned; with a null piece it
// counts bytes. Knows nothing of what the arrays are for.
#pragma once

#include <cstdint>

namespace libknng::cuda {

class Workspace {
 public:
  explicit Workspace(void* memory) noexcept : memory_(static_cast<unsigned char*>(memory)) {}

  template <class T>
  T* take(std::int64_t count) noexcept {
    T* array = memory_ ? reinterpret_cast<T*>(memory_ + used_) : nullptr;
    used_ += (count * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
    return array;
  }
  std::int64_t used() const noexcept { return used_; }

 private:
  unsigned char* memory_;
  std::int64_t used_ = 0;
};

}  // namespace libknng::cuda
