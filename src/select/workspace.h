// A selector's working memory, which is one block, cut into arrays. Counts as it goes, so that the same lines that lay
// out the arrays say how large they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/checked.h"
#include "core/division.h"

namespace libknng {

class Workspace {
 public:
  // nullptr: only counts.
  explicit Workspace(std::byte* memory = nullptr) noexcept : memory_(memory) {}

  template <class T>
  T* array(std::int64_t count) {
    const std::int64_t from = bytes_;
    const std::int64_t size = checked_mul(count, static_cast<std::int64_t>(sizeof(T)), "tile_rows");
    bytes_ = checked_add(bytes_, round_up(size, kAlignment), "tile_rows");
    return memory_ ? reinterpret_cast<T*>(memory_ + from) : nullptr;
  }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::int64_t kAlignment = 64;  // of Buffer
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace libknng
