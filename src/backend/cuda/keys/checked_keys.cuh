// All canonical keys of the rows that are checked, where points come in blocks. They are evaluated in the pass for the
// keys of lists, so that no block comes a second time. Knows nothing of lists.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

class CheckedKeys {
 public:
  // Of the problem's checked rows, which outlive it.
  CheckedKeys(const knng_backend_problem& p, DeviceContext& context);
  static std::int64_t bytes(const knng_backend_problem& p);

  // Those of checked rows in [first_row, first_row + row_count) with `column_count` columns from first_column on, which
  // is row `at` of their view. Asynchronous.
  void evaluate(const Metric& metric, const CanonicalView& rows, std::int64_t first_row, std::int64_t row_count,
                const CanonicalView& columns, std::int64_t at, std::int64_t first_column, std::int64_t column_count,
                const DirectParts& parts, cudaStream_t stream);

  // By place in the list of checked rows: one key for each column.
  const double* of(std::int64_t place) const noexcept { return arrays_.keys.data() + place * columns_; }

 private:
  struct Arrays {
    Arrays(const knng_backend_problem& p, ArraySource& source);

    DeviceArray<std::int64_t> in_view;  // at which row of its view each of them is
    DeviceArray<double> keys, u;
  };

  const std::span<const std::int64_t> checked_;
  const std::int64_t columns_, dim_;
  const Arrays arrays_;
};

}  // namespace libknng::cuda
