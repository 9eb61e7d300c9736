#include "backend/cuda/product.cuh"

#include "backend/cuda/unit.h"

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

}  // namespace

Products::Products(Kit& kit, Home& home) : workspace_(kWorkspaceBytes, home), handle_(kit.blas()) {
  check(cublasSetStream(handle_, home.stream));
  check(cublasSetWorkspace(handle_, workspace_.data(), static_cast<std::size_t>(kWorkspaceBytes)));
  check(cublasSetMathMode(
      handle_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
}

void Products::run(const std::byte* a, std::int64_t rows, const std::byte* b, std::int64_t columns, std::int64_t dim,
                   Precision precision, float* tile, std::int64_t ld) {
  const Types types = types_of(precision);
  const bool integers = precision == Precision::int8;
  // Tensor cores take bytes only where cuBLAS's m (here columns), k and leading dimensions are multiples of 4 and the
  // first operand is transposed (cuBLAS, "cublasLtMatmul", regular data ordering). Some chips have nothing else.
  const std::int64_t m = integers ? (columns + kColumnGrain - 1) / kColumnGrain * kColumnGrain : columns;
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

ProductUnit Products::unit(Precision precision, std::int64_t dim, const LowBound::Ratios& ratios, int compute_major) {
  switch (precision) {
    case Precision::fp16: return fp16_unit(dim, compute_major);
    case Precision::two_piece: return two_piece_unit(fp16_unit(terms_of(dim, precision), compute_major), ratios);
    default: return fp32_unit(dim);
  }
}

}  // namespace libknng::cuda
