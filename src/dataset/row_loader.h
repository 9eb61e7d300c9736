// Rows of a data set as fp64, exactly, in any order, and questions about their values. Rows in memory of devices need a
// loader that knows devices (exec/rows/device_row_loader.h). Knows nothing of what the answers are
// for.
#pragma once

#include <cstdint>
#include <span>

#include "dataset/dataset.h"
#include "metric/metric.h"

namespace libknng {

class RowLoader {
 public:
  // Of rows that the host reads.
  explicit RowLoader(const Dataset& data) noexcept : data_(data) {}
  virtual ~RowLoader() = default;

  // Rows that are loaded together at most, 2 or more.
  virtual std::int64_t together() const noexcept { return kTogether; }
  static constexpr std::int64_t kTogether = 2;
  // Rows that a call of same() or without_direction() had better be for, if there are so many; even.
  virtual std::int64_t asked_together() const noexcept { return kTogether; }
  // Threads, of so many, that had better ask.
  virtual int threads(int most) const noexcept { return most; }

  // The following for any thread. values: room for together() rows. They throw KNNG_ERR_IO if a row is in a file that
  // cannot be read.
  // Whether the first two listed rows are equal, -0 being 0, then the next two, and so on; same: one for each two.
  virtual void same(std::span<const std::int64_t> rows, double* values, std::uint8_t* same) const;
  // has_no_direction() of metric/ of each listed row.
  virtual void without_direction(Transform transform, std::span<const std::int64_t> rows, double* values,
                                 std::uint8_t* without) const;

 protected:
  // Listed rows, together() at most, dim() values each.
  virtual void load(std::span<const std::int64_t> rows, double* out) const;

  const Dataset& data_;
};

}  // namespace libknng
