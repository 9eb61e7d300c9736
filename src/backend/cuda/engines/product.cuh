// Tiles of products of operands by cuBLAS. Its accumulation is set explicitly: fp32, and int32 for bytes, no
// reduced-precision reduction, no emulation, so that the bound's unit (rounding_model.h) is the one that runs. Knows
// nothing of what a product means.
#pragma once

#include <cublas_v2.h>

#include <cstdint>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/engines/operands.cuh"
#include "backend/seam.h"

namespace libknng::cuda {

// A KNNG_UNIT bit.
constexpr std::int32_t unit_of(Precision precision) {
  return precision == Precision::int8   ? KNNG_UNIT_BYTES
         : precision == Precision::fp32 ? KNNG_UNIT_FP32
                                        : KNNG_UNIT_FP16;
}

class Products {
 public:
  // cuBLAS gets its workspace from the session's memory.
  Products(HandleCache& handles, DeviceContext& context);
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  static std::int64_t bytes() { return bytes_of<Space>(); }

  // tile[r ld + c] = a_r . b_c, r < rows, c < columns, of points of dim coordinates; int8: as the bits of an int32, ld
  // is a multiple of 4, and columns are written up to one.
  void run(const std::byte* a, std::int64_t rows, const std::byte* b, std::int64_t columns, std::int64_t dim,
           Precision precision, float* tile, std::int64_t ld);
  // |product - a.b| <= gamma (|a|^2 + |b|^2) / 2 + eta, of operands in two pieces for all terms together, which is what
  // LowBound builds on; of bytes kByteUnit.
  static ProductUnit unit(Precision precision, std::int64_t dim, const knng_backend_units& units);

 private:
  struct Space {
    explicit Space(ArraySource& source) : workspace(source.take<std::byte>(std::int64_t{32} << 20)) {}

    DeviceArray<std::byte> workspace;
  };

  // One product of cuBLAS.
  void multiply(const std::byte* a, std::int64_t rows, const std::byte* b, std::int64_t columns, std::int64_t dim,
                Precision precision, float* tile, std::int64_t ld);

  const Space space_;
  const cublasHandle_t handle_;
};

}  // namespace libknng::cuda
