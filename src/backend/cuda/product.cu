#include "backend/cuda/product.cuh"

#include "backend/cuda/unit.h"

namespace libknng::cuda {

Products::Products(Kit& kit, Home& home) : workspace_(kWorkspaceBytes, home), handle_(kit.blas()) {
  check(cublasSetStream(handle_, home.stream));
  check(cublasSetWorkspace(handle_, workspace_.data(), static_cast<std::size_t>(kWorkspaceBytes)));
  check(cublasSetMathMode(
      handle_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
}

void Products::run(const OperandBlock& a, std::int64_t rows, const OperandBlock& b, std::int64_t columns,
                   std::int64_t dim, Precision precision, float* tile, std::int64_t ld) {
  const bool single = precision == Precision::fp32;
  const cudaDataType_t type = single ? CUDA_R_32F : CUDA_R_16F;
  const cublasComputeType_t compute = single ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
  const auto pitch = static_cast<int>(pitch_of(dim));
  // cuBLAS counts column by column: its matrix is the transposed tile.
  const auto add = [&](int piece_a, int piece_b, float beta) {
    const float one = 1;
    check(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows), pitch,
                       &one, b.pieces[piece_b], type, pitch, a.pieces[piece_a], type, pitch, &beta, tile, CUDA_R_32F,
                       static_cast<int>(ld), compute, CUBLAS_GEMM_DEFAULT));
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
