// Tiles of keys: every key has the bits of metric/canonical.cpp, every lower bound is that key rounded down.
#include <cfloat>
#include <cmath>
#include <vector>

#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/keys/whole_keys.cuh"
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
  direct_tile(rows.metric, in_order, column_operand, false, low.get(), ld, {1, count_parts}, nullptr);
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

// Evaluated once for (i, j) and (j, i).
void symmetric_tile_has_all_keys(const Points& rows) {
  const DevicePoints device_rows(rows);
  const std::int64_t n = rows.rows, ld = n + 5;
  const Array<std::byte> space(direct_operand_bytes(n, rows.dim));
  const DirectOperand operand = make_direct_operand(device_rows.view(), nullptr, 0, n, space.get(), nullptr);
  const Array<float> once(n * ld), twice(n * ld);
  direct_tile(rows.metric, operand, operand, true, once.get(), ld, {}, nullptr);
  direct_tile(rows.metric, operand, operand, false, twice.get(), ld, {}, nullptr);
  check(cudaDeviceSynchronize());
  const std::vector<float> got = once.values(), expected = twice.values();
  for (std::size_t i = 0; i < got.size(); ++i)
    expect(std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(expected[i]),
           "%s: symmetric, element %zu", rows.name.c_str(), i);
}

// Few rows read columns where they are: all columns in order, or some that are listed.
void rows_reading_in_place(const Points& rows, const Points& columns) {
  const DevicePoints device_rows(rows), device_columns(columns);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = rows.rows; i-- > 0;) numbers.push_back(i);
  std::vector<std::int64_t> column_numbers;
  for (std::int64_t j = columns.rows - 1; j >= 0; j -= 2) column_numbers.push_back(j);
  const Array<std::int64_t> list(numbers), column_list(column_numbers);
  const std::int64_t ld = columns.rows + 5;
  const Array<double> keys(rows.rows * ld), u(rows.rows * rows.dim);
  const Array<float> lows(rows.rows * ld);
  WholeKeysJob job;
  job.rows = device_rows.view();
  job.columns = device_columns.view();
  job.metric = rows.metric;
  job.ld = ld;
  job.u = u.get();
  job.parts = {1, {}};
  job.list = list.get();
  job.count = rows.rows;
  job.first_column = 2;
  job.column_count = columns.rows - 2;
  job.keys = keys.get();
  whole_keys(job, nullptr);
  job.keys = nullptr;
  job.lows = lows.get();
  job.list = nullptr;
  job.first_row = 1;
  job.count = rows.rows - 1;
  job.column_list = column_list.get();
  job.column_count = static_cast<std::int64_t>(column_numbers.size());
  whole_keys(job, nullptr);
  check(cudaDeviceSynchronize());
  const std::vector<double> got_keys = keys.values();
  const std::vector<float> got_lows = lows.values();
  for (std::int64_t i = 0; i < rows.rows; ++i)
    for (std::int64_t j = 0; j < ld; ++j) {
      const double key = got_keys[static_cast<std::size_t>(i * ld + j)];
      const float low = got_lows[static_cast<std::size_t>(i * ld + j)];
      if (j < columns.rows - 2)
        expect(bits(key) == bits(expected_key(rows, rows.rows - 1 - i, columns, j + 2)),
               "%s: key of (%lld, %lld) is %a", rows.name.c_str(), static_cast<long long>(i), static_cast<long long>(j),
               key);
      else
        expect(bits(key) == ~0ull, "%s: beyond, in place", rows.name.c_str());
      if (i < rows.rows - 1 && j < std::ssize(column_numbers))
        expect(low == round_down(expected_key(rows, i + 1, columns, column_numbers[static_cast<std::size_t>(j)])),
               "%s: low of (%lld, %lld) is %a", rows.name.c_str(), static_cast<long long>(i), static_cast<long long>(j),
               static_cast<double>(low));
      else
        expect(std::bit_cast<std::uint32_t>(low) == ~0u, "%s: beyond, lows", rows.name.c_str());
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
        symmetric_tile_has_all_keys(make_points(metric, dtype, columns, dim, 5));
        rows_reading_in_place(make_points(metric, dtype, 6, dim, 6), make_points(metric, other, columns, dim, 7));
        ++cases;
      }
  std::printf("direct tiles: %d cases have the host's bits\n", cases);
  return gpu::result();
}
