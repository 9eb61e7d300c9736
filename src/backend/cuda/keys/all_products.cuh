// Products in fp64 of all points of a graph with each other, for keys whose last bits do not matter
// (refine/product_key.h). Knows nothing of keys.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"

namespace libknng::cuda {

struct AllProductsJob {
  CanonicalView points;
  const double* centre = nullptr;  // of all of them, dim values
  double* x = nullptr;             // working memory: points x dim
  double* products = nullptr;      // points x points: that of i and j, i <= j, is at i points + j
  double* squares = nullptr;       // those of each point with itself
};

// By cuBLAS, whose stream is `stream`. Asynchronous.
void all_products(const AllProductsJob& job, cublasHandle_t handle, cudaStream_t stream);

// The same of rows x as they are: products of points x points.
void multiply_all(const double* x, std::int64_t points, std::int64_t dim, double* products, cublasHandle_t handle);

}  // namespace libknng::cuda
