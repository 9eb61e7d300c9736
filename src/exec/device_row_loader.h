// Rows of a data set as fp64 where some are in memory of devices: those are brought to the host, many at a time. Knows
// devices only through backend/memory.h.
#pragma once

#include <memory>
#include <mutex>

#include "core/buffer.h"
#include "dataset/row_loader.h"

namespace libknng {

class DeviceRowLoader : public RowLoader {
 public:
  DeviceRowLoader(const Dataset& data, Budget* budget);
  static std::int64_t together(const Dataset& data) noexcept;
  static std::int64_t bytes(const Dataset& data);  // that one holds

  std::int64_t together() const noexcept override { return together(data_); }
  // Throws KNNG_ERR_DEVICE if the rows of a device cannot be brought.
  void load(std::span<const std::int64_t> rows, double* out) const override;

 private:
  mutable std::mutex mutex_;
  mutable Buffer<std::byte> stored_;
};

// One for the data set, whatever it takes.
std::unique_ptr<const RowLoader> make_row_loader(const Dataset& data, Budget* budget);
// Host memory that its fingerprint takes.
std::int64_t bytes_to_fingerprint(const Dataset& data, int threads);

}  // namespace libknng
