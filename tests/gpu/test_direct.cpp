// Direct tiles: every key has the bits of metric/canonical.cpp, every lower bound is that key rounded down.
#include <cfloat>
#include <cmath>
#include <vector>

#include "backend/cuda/keys/direct.cuh"
#include "refine/bound.h"
#include "tests/gpu/points.h"

namespace libknng::cuda::test {
namespace {

void tile_has_the_hosts_bits(const Points& rows, const Points& columns) {
  const DevicePoints device_rows(rows), device_columns(columns);
  // All columns; rows from the second on, and once by number, in reverse.
  const std::int64_t first = 1, count = rows.rows - first, ld = columns.rows + 5;
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = rows.rows; i-- > first;) numbers.push_back(i);
  const Array<std::int64_t> list(numbers);
  const Array<std::byte> row_space(direct_operand_bytes(count, rows.dim));
  const Array<std::byte> column_space(direct_operand_bytes(columns.rows, rows.dim));
  const DirectOperand column_operand =
      make_direct_operand(device_columns.view(), nullptr, 0, columns.rows, column_space.get(), nullptr);
  const Array<float> low(count * ld);
  const Array<double> keys(count * ld);
  const DirectOperand in_order =
      make_direct_operand(device_rows.view(), nullptr, first, count, row_space.get(), nullptr);
  int parts = 0;
  const auto count_parts = [&] { ++parts; };
  direct_tile(rows.metric, in_order, column_operand, low.get(), ld, {1, count_parts}, nullptr);
  expect(parts >= (count + 63) / 64 * ((columns.rows + 63) / 64), "%s: %d parts", rows.name.c_str(), parts);
  const DirectOperand listed = make_direct_operand(device_rows.view(), list.get(), 0, count, row_space.get(), nullptr);
  direct_tile(rows.metric, listed, column_operand, keys.get(), ld, {3 * 32 * 32, count_parts}, nullptr);
  check(cudaDeviceSynchronize());
  const std::vector<float> got_low = low.values();
  const std::vector<double> got_keys = keys.values();
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < ld; ++j) {
      const float l = got_low[static_cast<std::size_t>(i * ld + j)];
      const double k = got_keys[static_cast<std::size_t>((count - 1 - i) * ld + j)];
      if (j >= columns.rows) {  // beyond the tile nothing is written
        expect(std::bit_cast<std::uint32_t>(l) == ~0u && bits(k) == ~0ull, "%s: beyond", rows.name.c_str());
        continue;
      }
      const double expected = expected_key(rows, first + i, columns, j);
      expect(bits(k) == bits(expected), "%s: key of (%lld, %lld) is %a, not %a", rows.name.c_str(),
             static_cast<long long>(first + i), static_cast<long long>(j), k, expected);
      expect(l == round_down(expected), "%s: low of (%lld, %lld) is %a, not %a", rows.name.c_str(),
             static_cast<long long>(first + i), static_cast<long long>(j), static_cast<double>(l), expected);
    }
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda::test;
  gpu::need_device();
  int cases = 0;
  const std::vector<std::int32_t> dtypes = all_dtypes();
  for (const Metric& metric : all_metrics())
    for (std::size_t type = 0; type < dtypes.size(); ++type)
      for (const std::int64_t dim : all_dims()) {
        // Queries may be of another type than the columns.
        const std::int32_t dtype = dtypes[type], other = dtypes[dim == 33 ? (type + 1) % dtypes.size() : type];
        const std::int64_t rows = dim > 100 ? 18 : 66, columns = dim > 100 ? 35 : 131;
        tile_has_the_hosts_bits(make_points(metric, dtype, rows, dim, 3), make_points(metric, other, columns, dim, 4));
        ++cases;
      }
  std::printf("direct tiles: %d cases have the host's bits\n", cases);
  return gpu::result();
}
