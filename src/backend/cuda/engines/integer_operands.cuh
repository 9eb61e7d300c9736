// Points of 8-bit integers, or of bools, as the product unit multiplies them: exactly. Keys are integers, and follow
// from products by integer arithmetic: no bound is needed. Knows nothing of tiles.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

// Signed bytes of all rows, in order or in that of RoundJob (operands.cuh), at stride_of(dim, Precision::int8), zeros
// behind dim, and behind the last row as many points of zeros as points_behind() says. terms: of each point, if not
// null, its square as the bits of an int32, 0 for inner products. Then key x scale = term + term - 2 product, in 32
// bits (plan/integer_products.h). Asynchronous.
void make_integer_operands(const DeviceRows& rows, const std::int64_t* order, const Metric& metric, std::byte* bytes,
                           float* terms, cudaStream_t stream);
constexpr double integer_scale(const Metric& metric) { return metric.term == Term::product ? 2 : 1; }

}  // namespace libknng::cuda
