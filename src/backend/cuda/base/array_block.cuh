// Arrays cut from one block of device memory, for those whose bytes together are known: to ask a pool for each, and to
// give each back, takes as long as a launch or two, and to map large ones longer. They are used in the order of one
// stream. Knows nothing of where the block comes from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libknng::cuda {

class ArrayBlock {
 public:
  ArrayBlock() noexcept = default;
  ArrayBlock(void* memory, std::int64_t bytes) : memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {
    free_.push_back({0, bytes});
  }

  // From the first range that is long enough. Null: there is none.
  void* take(std::int64_t bytes) {
    // Free ranges are at most one more than arrays, and one more while an array is given back, which must not fail.
    free_.reserve(arrays_ + 3);
    for (auto range = free_.begin(); range != free_.end(); ++range) {
      if (range->bytes < bytes) continue;
      void* const array = memory_ + range->first;
      range->first += bytes;
      range->bytes -= bytes;
      if (range->bytes == 0) free_.erase(range);
      ++arrays_;
      return array;
    }
    return nullptr;
  }
  // Whether it was one of these.
  bool give(const void* array, std::int64_t bytes) noexcept {
    const auto* const at = static_cast<const std::byte*>(array);
    if (at < memory_ || at >= memory_ + bytes_) return false;
    --arrays_;
    const std::int64_t first = at - memory_;
    const auto behind =
        std::find_if(free_.begin(), free_.end(), [first](const Range& range) { return range.first > first; });
    auto range = free_.insert(behind, {first, bytes});
    if (const auto next = range + 1; next != free_.end() && next->first == range->first + range->bytes) {
      range->bytes += next->bytes;
      free_.erase(next);
    }
    if (range != free_.begin() && (range - 1)->first + (range - 1)->bytes == range->first) {
      (range - 1)->bytes += range->bytes;
      free_.erase(range);
    }
    return true;
  }
  void* memory() const noexcept { return memory_; }

 private:
  struct Range {
    std::int64_t first, bytes;
  };

  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0;
  std::size_t arrays_ = 0;
  std::vector<Range> free_;  // ascending; no two touch
};

}  // namespace libknng::cuda
