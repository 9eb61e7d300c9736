#include "backend/cuda/engines/integer_operands.cuh"

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/engines/operands.cuh"
#include "plan/integer_products.h"

namespace libknng::cuda {
namespace {

constexpr int kWarp = 32, kThreads = 256;

// One warp a point, or a point of zeros behind the last.
template <class T>
__global__ void __launch_bounds__(kThreads)
    shift_rows(const T* data, const DeviceRows rows, const std::int64_t* order, std::int64_t points,
               std::int64_t stride, int centre, bool squares, std::int8_t* bytes, float* terms) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (i >= points) return;
  const std::int64_t values = i < rows.rows ? rows.dim : 0;
  const T* row = data + (order && i < rows.rows ? order[i] : i) * rows.row_stride;
  int square = 0;
  for (std::int64_t t = threadIdx.x % kWarp; t < stride; t += kWarp) {
    const int x = t < values ? static_cast<int>(row[t * rows.col_stride]) - centre : 0;
    bytes[i * stride + t] = static_cast<std::int8_t>(x);
    square += x * x;
  }
  square = sum_of_lanes(square);
  if (terms && i < rows.rows && threadIdx.x % kWarp == 0) terms[i] = __int_as_float(squares ? square : 0);
}

}  // namespace

void make_integer_operands(const DeviceRows& rows, const std::int64_t* order, const Metric& metric, std::byte* bytes,
                           float* terms, cudaStream_t stream) {
  const std::int64_t points = rows.rows + points_behind(Precision::int8), stride = stride_of(rows.dim, Precision::int8);
  const auto blocks = static_cast<unsigned>((points + kThreads / kWarp - 1) / (kThreads / kWarp));
  const auto run = [&](const auto* data) {
    shift_rows<<<blocks, kThreads, 0, stream>>>(data, rows, order, points, stride, integer_centre(rows.dtype),
                                                metric.term != Term::product, reinterpret_cast<std::int8_t*>(bytes),
                                                terms);
    check_launch();
  };
  if (rows.dtype == KNNG_I8)
    run(static_cast<const std::int8_t*>(rows.data));
  else
    run(static_cast<const std::uint8_t*>(rows.data));
}

}  // namespace libknng::cuda
