#include <algorithm>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/keys/all_products.cuh"
#include "backend/cuda/rows/element_walk.cuh"
#include "backend/cuda/rows/prepare.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(ElementWalk::kThreads)
    subtract(double* x, std::int64_t dim, const double* centre, const __grid_constant__ ElementWalk walk) {
  for (std::uint32_t part = blockIdx.x; part < walk.parts(); part += gridDim.x)
#pragma unroll
    for (int j = 0; j < ElementWalk::kEach; ++j)
      if (const auto e = walk.element(part, j); e.exists) x[e.row * dim + e.column] -= centre[e.column];
}

__global__ void copy_diagonal(const double* products, std::int64_t points, double* squares) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < points) squares[i] = products[i * points + i];
}

}  // namespace

void multiply_all(const double* x, std::int64_t points, std::int64_t dim, double* products, cublasHandle_t handle) {
  const double one = 1, zero = 0;
  const auto n = static_cast<int>(points), d = static_cast<int>(dim);
  // In fp64 itself, whatever the environment lets cuBLAS emulate: the keys' bound is that of its sums.
  cublasMath_t before{};
  check(cublasGetMathMode(handle, &before));
  check(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
  // cuBLAS counts column by column: x is its transposed matrix, and its lower half is our upper one.
  check(cublasDsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, n, d, &one, x, d, &zero, products, n));
  check(cublasSetMathMode(handle, before));
}

void all_products(const AllProductsJob& job, cublasHandle_t handle, cudaStream_t stream) {
  const std::int64_t n = job.points.rows.rows, dim = job.points.rows.dim;
  load_canonical(job.points, nullptr, 0, n, job.x, stream);
  const ElementWalk walk(n, dim, false);
  subtract<<<walk.blocks(), ElementWalk::kThreads, 0, stream>>>(job.x, dim, job.centre, walk);
  check_launch();
  multiply_all(job.x, n, dim, job.products, handle);
  copy_diagonal<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(job.products, n, job.squares);
  check_launch();
}

}  // namespace libknng::cuda
