// Rows of a data set as fp64, exactly, in any order and wherever they are: those in memory of devices take a loader
// that knows them (exec/device_row_loader.h). Knows nothing of what they are wanted for.
#pragma once

#include <cstdint>
#include <span>

#include "dataset/dataset.h"

namespace libknng {

class RowLoader {
 public:
  // Of rows that the host reads.
  explicit RowLoader(const Dataset& data) noexcept : data_(data) {}
  virtual ~RowLoader() = default;

  // Rows that a call had better be for, if there are so many: 2 or more. No call is for more.
  virtual std::int64_t together() const noexcept { return kTogether; }
  static constexpr std::int64_t kTogether = 2;
  // Threads, of so many, that had better load.
  virtual int threads(int most) const noexcept { return most; }
  // Listed rows, dim() values each. Any thread. Throws KNNG_ERR_IO if one is in a file that cannot be read.
  virtual void load(std::span<const std::int64_t> rows, double* out) const {
    for (const std::int64_t row : rows) {
      data_.load(row, out);
      out += data_.dim();
    }
  }

 protected:
  const Dataset& data_;
};

}  // namespace libknng
