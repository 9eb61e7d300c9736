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

void Products::run(const OperandBlock& a, std::int64_t rows, const OperandBlock& b, std::int64_t columns,
                   std::int64_t dim, Precision precision, float* tile, std::int64_t ld) {
  const Types types = types_of(precision);
  const bool integers = precision == Precision::int8;
  const auto pitch = static_cast<int>(pitch_of(dim, precision));
  // Tensor cores take bytes only where cuBLAS's m (here columns), k and leading dimensions are multiples of 4 and the
  // first operand is transposed (cuBLAS, "cublasLtMatmul", regular data ordering). Some chips have nothing else.
  const std::int64_t m = integers ? (columns + kColumnGrain - 1) / kColumnGrain * kColumnGrain : columns;
  // cuBLAS counts column by column: its matrix is the transposed tile.
  const auto add = [&](int piece_a, int piece_b, int beta) {
    // Factors are of the type of the sums.
    const float factors[] = {1, static_cast<float>(beta)};
    const std::int32_t integer_factors[] = {1, beta};
    const auto factor = [&](int i) { return integers ? static_cast<const void*>(integer_factors + i) : factors + i; };
    check(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(m), static_cast<int>(rows), pitch, factor(0),
                       b.pieces[piece_b], types.operand, pitch, a.pieces[piece_a], types.operand, pitch, factor(1),
                       tile, types.product, static_cast<int>(ld), types.compute, CUBLAS_GEMM_DEFAULT));
  };
  add(0, 0, 0);
  if (precision != Precision::two_piece) return;
  add(0, 1, 1);
  add(1, 0, 1);
}

ProductUnit Products::unit(Precision precision, std::int64_t dim, const LowBound::Ratios& ratios, int compute_major) {
  switch (precision) {
    case Precision::fp16: return fp16_unit(dim, compute_major);
    // Three products, joined by two additions, which count as more terms.
    case Precision::two_piece: return two_piece_unit(fp16_unit(3 * dim + 48, compute_major), ratios);
    default: return fp32_unit(dim);
  }
}

}  // namespace libknng::cuda
