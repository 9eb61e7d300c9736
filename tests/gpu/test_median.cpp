// Medians of coordinates: an element that no more than half of the others are clearly below, or clearly above, whatever
// repeats.
#include <algorithm>
#include <cmath>

#include "backend/cuda/engines/median.cuh"
#include "tests/gpu/gpu.cuh"
#include "tests/unit/values.h"

namespace {

// far: from 0, beside what they differ by.
enum class Kind { uniform, few, far };

}  // namespace

int main() {
  using namespace libknng::cuda;
  using gpu::Array;
  using gpu::expect;
  gpu::need_device();
  for (const std::int64_t count :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{31}, std::int64_t{255}, kMostMedianRows})
    for (const std::int64_t dim : {1, 7, 1000})
      for (const Kind kind : {Kind::uniform, Kind::few, Kind::far}) {
        values::Random random(static_cast<std::uint64_t>(count + dim));
        std::vector<double> rows;
        for (std::int64_t i = 0; i < count * dim; ++i)
          rows.push_back(kind == Kind::few   ? static_cast<double>(random.next() % 3)
                         : kind == Kind::far ? 0x1p40 + random.uniform()
                                             : random.uniform());
        const Array<double> device_rows(rows), median(dim);
        median_of_rows(device_rows.get(), count, dim, median.get(), nullptr);
        check(cudaDeviceSynchronize());
        const std::vector<double> got = median.values();
        for (std::int64_t t = 0; t < dim; ++t) {
          std::vector<double> column;
          for (std::int64_t s = 0; s < count; ++s) column.push_back(rows[static_cast<std::size_t>(s * dim + t)]);
          const double found = got[static_cast<std::size_t>(t)], apart = std::abs(found - column[0]) * 0x1p-14;
          const auto below = std::count_if(column.begin(), column.end(), [&](double x) { return x < found - apart; });
          const auto up_to = std::count_if(column.begin(), column.end(), [&](double x) { return x <= found + apart; });
          const bool is_one = std::find(column.begin(), column.end(), found) != column.end();
          expect(is_one && below <= count / 2 && up_to > count / 2, "%lld rows: coordinate %lld of %lld",
                 static_cast<long long>(count), static_cast<long long>(t), static_cast<long long>(dim));
        }
      }
  return gpu::result();
}
