#include "exec/device_row_loader.h"

#include <algorithm>
#include <vector>

#include "backend/memory.h"
#include "core/dtype.h"
#include "dataset/fingerprint.h"

namespace libknng {
namespace {

// Of rows as fp64: enough for a call not to be dear, and little beside what else there is for a thread.
constexpr std::int64_t kBytesTogether = std::int64_t{4} << 20;

// Of the rows of a call.
std::int64_t stored_bytes(const Dataset& data) {
  const std::int64_t row_bytes = checked_mul(data.dim(), find_dtype(data.dtype())->bytes, "rows");
  return checked_mul(DeviceRowLoader::together(data), row_bytes, "rows");
}

}  // namespace

DeviceRowLoader::DeviceRowLoader(const Dataset& data, Budget* budget)
    : RowLoader(data), stored_(stored_bytes(data), budget) {}

std::int64_t DeviceRowLoader::together(const Dataset& data) noexcept {
  return std::clamp<std::int64_t>(kBytesTogether / 8 / data.dim(), 2, 2 * data.rows());
}

std::int64_t DeviceRowLoader::bytes(const Dataset& data) {
  // Numbers of rows: of a call, and of what each thread asks for.
  const std::int64_t numbers = checked_mul(together(data), 8 * (2 + kThreads), "rows");
  return checked_add(stored_bytes(data), numbers, "rows");
}

void DeviceRowLoader::load(std::span<const std::int64_t> rows, double* out) const {
  const std::int64_t dim = data_.dim(), row_bytes = dim * find_dtype(data_.dtype())->bytes;
  std::vector<std::int64_t> listed, places;
  std::int64_t first = 0;
  for (const auto& chunk : data_.chunks()) {
    const MatrixView& m = chunk->view();
    listed.clear();
    places.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row = rows[i] - first;
      if (row < 0 || row >= m.rows) continue;
      listed.push_back(row);
      places.push_back(static_cast<std::int64_t>(i));
    }
    first += m.rows;
    if (listed.empty()) continue;
    if (!m.on_device()) {
      for (const std::int64_t place : places) data_.load(rows[static_cast<std::size_t>(place)], out + place * dim);
      continue;
    }
    const std::lock_guard lock(mutex_);
    copy_listed_from_device(m, listed, stored_.data(), "rows");
    for (std::size_t i = 0; i < places.size(); ++i)
      load_row({m.dtype, 1, dim, dim, 1, stored_.data() + static_cast<std::int64_t>(i) * row_bytes}, 0,
               out + places[i] * dim);
  }
}

std::unique_ptr<const RowLoader> make_row_loader(const Dataset& data, Budget* budget) {
  if (data.on_devices()) return std::make_unique<DeviceRowLoader>(data, budget);
  return std::make_unique<RowLoader>(data);
}

std::int64_t bytes_to_group(const Dataset& data) {
  if (!data.on_devices()) return 0;
  const std::int64_t values = checked_mul(DeviceRowLoader::together(data), 8 * (data.dim() + 1), "rows");
  return checked_add(values, DeviceRowLoader::bytes(data), "rows");
}

std::int64_t bytes_to_fingerprint(const Dataset& data, int threads) {
  if (!data.on_devices()) return fingerprint_bytes(data.rows(), data.dim(), threads, RowLoader::kTogether);
  const std::int64_t together = DeviceRowLoader::together(data);
  const int loading = std::min(threads, DeviceRowLoader::kThreads);
  return checked_add(fingerprint_bytes(data.rows(), data.dim(), loading, together), DeviceRowLoader::bytes(data),
                     "rows");
}

}  // namespace libknng
