// Keys of candidates from products in fp64 (all_products.cuh). What is made of keys (the order of a row's neighbours,
// values as they are reported, ties, the proof, the check of the filter's bounds) is what canonical keys would make of
// it: a candidate for which the error of its key could change any of that gets its canonical key.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/rows/rows.cuh"
#include "metric/metric.h"
#include "refine/product_key.h"

namespace libknng::cuda {

// Products of all points of a graph. None of them is without direction.
struct ProductTable {
  const double *products, *squares;  // all_products()
  std::int64_t points;
  ProductKey key;
  bool similarity;  // what values are, as fp32
};

struct RefinedBatch;

// Lists that are longer are none for it.
inline constexpr std::int64_t kLongestOfProducts = 8192;

// As keys of candidates are evaluated in refine(): fills the batch's entries. batch.u is not read. Asynchronous.
void product_keys(const CanonicalView& points, const Metric& metric, const RefinedBatch& batch,
                  const ProductTable& table, cudaStream_t stream);

}  // namespace libknng::cuda
