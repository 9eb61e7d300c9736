// Arrays cut from one block of device memory, for those whose bytes together are known and few: to ask a pool for each,
// and to give each back, takes as long as a launch or two. They are used in the order of one stream. Knows nothing of
// where the block comes from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace libknng::cuda {

class ArrayBlock {
 public:
  ArrayBlock() noexcept = default;
  ArrayBlock(void* memory, std::int64_t bytes) noexcept : memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {}

  // Null: there is no room.
  void* take(std::int64_t bytes) noexcept {
    if (bytes > bytes_ - next_) return nullptr;
    void* const array = memory_ + next_;
    next_ += bytes;
    ++arrays_;
    return array;
  }
  // Whether it was one of these. Room comes back from the end, and all of it with the last array.
  bool give(const void* array, std::int64_t bytes) noexcept {
    const auto* const at = static_cast<const std::byte*>(array);
    if (at < memory_ || at >= memory_ + bytes_) return false;
    if (--arrays_ == 0)
      next_ = 0;
    else if (at + bytes == memory_ + next_)
      next_ -= bytes;
    return true;
  }
  void* memory() const noexcept { return memory_; }

 private:
  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0, next_ = 0, arrays_ = 0;
};

}  // namespace libknng::cuda
