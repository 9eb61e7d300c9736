// Rows of a data set of which some are in memory of devices. What can be said of rows there is asked of their device;
// what is compared with rows elsewhere is brought to the host, many rows at a time. Knows devices only through
// backend/memory.h.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>

#include "core/buffer.h"
#include "dataset/row_loader.h"

namespace libknng {

class DeviceRowLoader : public RowLoader {
 public:
  DeviceRowLoader(const Dataset& data, Budget* budget);
  static std::int64_t together(const Dataset& data) noexcept;
  static std::int64_t asked_together(const Dataset& data) noexcept;
  static std::int64_t bytes(const Dataset& data);  // that one holds, and those that list rows for it

  std::int64_t together() const noexcept override { return together(data_); }
  std::int64_t asked_together() const noexcept override { return asked_together(data_); }
  // One at a time gets rows.
  static constexpr int kThreads = 4;
  int threads(int most) const noexcept override { return std::min(most, kThreads); }
  // These throw KNNG_ERR_DEVICE if a device cannot answer, or its rows cannot be brought.
  void same(std::span<const std::int64_t> rows, double* values, std::uint8_t* same) const override;
  void without_direction(Transform transform, std::span<const std::int64_t> rows, double* values,
                         std::uint8_t* without) const override;

 private:
  void load(std::span<const std::int64_t> rows, double* out) const override;

  mutable std::mutex mutex_;
  mutable Buffer<std::byte> stored_;
};

// One for the data set, whatever it takes.
std::unique_ptr<const RowLoader> make_row_loader(const Dataset& data, Budget* budget);
// Host memory that rows take which are looked at while Groups are made.
std::int64_t bytes_to_group(const Dataset& data);
// Host memory that its fingerprint takes.
std::int64_t bytes_to_fingerprint(const Dataset& data, int threads);

}  // namespace libknng
