// Views of a matrix that have been checked already: the C boundary makes them from a knng_matrix. To read from and to
// write to. Knows nothing of who owns the memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace libknng {

// Device of memory that the host reads and writes.
inline constexpr std::int32_t kHostMemory = -1;
// Of rows that are in no memory.
inline constexpr std::int32_t kInFile = -2;

// Strides in elements, never both 0.
template <class Byte>
struct BasicMatrixView {
  std::int32_t dtype = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  Byte* data = nullptr;
  std::int32_t device = kHostMemory;  // whose memory it is; backend/memory.h reads and writes that of devices

  bool on_host() const noexcept { return device == kHostMemory; }
  bool on_device() const noexcept { return device != kHostMemory && device != kInFile; }
  bool packed() const noexcept { return col_stride == 1 && row_stride == cols; }
};

using MatrixView = BasicMatrixView<const std::byte>;
using MutableMatrixView = BasicMatrixView<std::byte>;

}  // namespace libknng
