// The products of all pairs of a few points, as a fused kernel hands them to lists that accept everything: for whoever
// puts its sums to the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/fused/fused_job.cuh"

namespace libknng::cuda::fused {

// Points to multiply, as FusedWork takes them.
struct FusedPoints {
  const std::byte *rows, *columns;
  int row_count, column_count;
  std::int64_t stride, terms;
};

// Row by row. NaN: a pair that its list did not get, or a list that got too much; with `both`, the column's list as
// well. expected: of bytes, an integer from -2^27 to 2^28 for each column: products come out exactly that are
// not farther from it than 2^23.
template <class Number>
std::vector<double> all_products(const FusedPoints& points, std::span<const Number> expected, Kernel<Number> kernel,
                                 int multiprocessors, bool both, DeviceContext& context);

}  // namespace libknng::cuda::fused
