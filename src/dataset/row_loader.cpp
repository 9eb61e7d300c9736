#include "dataset/row_loader.h"

#include <algorithm>

#include "metric/canonical.h"

namespace libknng {
namespace {

// Calls f for parts of so many rows at most.
template <class F>
void each_part(std::span<const std::int64_t> rows, std::int64_t together, F&& f) {
  const auto most = static_cast<std::size_t>(together);
  for (std::size_t first = 0; first < rows.size(); first += most)
    f(rows.subspan(first, std::min(most, rows.size() - first)));
}

}  // namespace

void RowLoader::load(std::span<const std::int64_t> rows, double* out) const {
  for (const std::int64_t row : rows) {
    data_.load(row, out);
    out += data_.dim();
  }
}

void RowLoader::same(std::span<const std::int64_t> rows, double* values, std::uint8_t* same) const {
  const std::int64_t dim = data_.dim();
  each_part(rows, together() / 2 * 2, [&](std::span<const std::int64_t> part) {
    load(part, values);
    const double* x = values;
    for (std::size_t i = 0; i < part.size(); i += 2, x += 2 * dim) *same++ = std::equal(x, x + dim, x + dim);
  });
}

void RowLoader::without_direction(Transform transform, std::span<const std::int64_t> rows, double* values,
                                  std::uint8_t* without) const {
  const auto dim = static_cast<std::size_t>(data_.dim());
  each_part(rows, together(), [&](std::span<const std::int64_t> part) {
    load(part, values);
    for (std::size_t i = 0; i < part.size(); ++i)
      *without++ = has_no_direction(transform, std::span<const double>(values + i * dim, dim));
  });
}

}  // namespace libknng
