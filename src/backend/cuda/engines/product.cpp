#include "backend/cuda/engines/product.cuh"

#include <algorithm>

#include "backend/cuda/engines/rounding_model.h"
#include "core/division.h"

namespace libknng::cuda {
namespace {

// What cuBLAS calls a precision.
struct Types {
  cudaDataType_t operand, product;
  cublasComputeType_t compute;
};
Types types_of(Precision precision) {
  switch (precision) {
    case Precision::int8: return {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
    case Precision::fp32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC};
    default: return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

// No matrix that cuBLAS sees has 2^31 elements: for as many cuBLASLt 13.6 chooses a kernel that then fails
// (NVIDIA/raft, issue 3097).
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kGrain = 128;  // parts of a tile begin at multiples, which keeps alignment

// How many points, so many elements apart, are not too many.
std::int64_t most_points(std::int64_t stride) {
  return std::max(kMostElements / stride / kGrain * kGrain, std::int64_t{kColumnGrain});
}

}  // namespace

Products::Products(HandleCache& handles, DeviceContext& context)
    : space_(taken<Space>(context)), handle_(handles.blas()) {
  check(cublasSetStream(handle_, context.stream));
  check(cublasSetWorkspace(handle_, space_.workspace.data(), static_cast<std::size_t>(space_.workspace.size())));
  check(cublasSetMathMode(
      handle_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
}

void Products::run(const std::byte* a, std::int64_t rows, const std::byte* b, std::int64_t columns, std::int64_t dim,
                   Precision precision, float* tile, std::int64_t ld) {
  const std::int64_t stride = stride_of(dim, precision);
  const std::int64_t rows_together = std::min(most_points(stride), most_points(ld));
  const std::int64_t columns_together = most_points(stride);
  for (std::int64_t row = 0; row < rows; row += rows_together)
    for (std::int64_t column = 0; column < columns; column += columns_together)
      multiply(operand_of(a, row, precision, dim), std::min(rows_together, rows - row),
               operand_of(b, column, precision, dim), std::min(columns_together, columns - column), dim, precision,
               tile + row * ld + column, ld);
}

void Products::multiply(const std::byte* a, std::int64_t rows, const std::byte* b, std::int64_t columns,
                        std::int64_t dim, Precision precision, float* tile, std::int64_t ld) {
  const Types types = types_of(precision);
  const bool integers = precision == Precision::int8;
  // Tensor cores take bytes only where cuBLAS's m (here columns), k and leading dimensions are multiples of 4 and the
  // first operand is transposed (cuBLAS, "cublasLtMatmul", regular data ordering). Some chips have nothing else.
  const std::int64_t m = integers ? round_up(columns, kColumnGrain) : columns;
  if (precision == Precision::two_piece) b += pitch_of(dim, precision) * value_bytes(precision);
  const auto stride = static_cast<int>(stride_of(dim, precision));
  // Factors are of the type of the sums.
  const float one = 1, zero = 0;
  const std::int32_t integer_one = 1, integer_zero = 0;
  const auto factor = [&](const float& f, const std::int32_t& i) {
    return integers ? static_cast<const void*>(&i) : static_cast<const void*>(&f);
  };
  // cuBLAS counts column by column: its matrix is the transposed tile.
  check(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(m), static_cast<int>(rows),
                     static_cast<int>(terms_of(dim, precision)), factor(one, integer_one), b, types.operand, stride, a,
                     types.operand, stride, factor(zero, integer_zero), tile, types.product, static_cast<int>(ld),
                     types.compute, CUBLAS_GEMM_DEFAULT));
}

ProductUnit Products::unit(Precision precision, std::int64_t dim, const knng_backend_units& units) {
  switch (precision) {
    case Precision::int8: return kByteUnit;
    case Precision::fp16: return fp16_unit(dim, units.lost, units.shortest);
    case Precision::two_piece: return fp16_unit(terms_of(dim, precision), units.lost, units.shortest);
    default: return fp32_unit(dim);
  }
}

}  // namespace libknng::cuda
