// Points sorted by Hilbert code on the device. Knows nothing of what the order is for.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/tree/hilbert.cuh"
#include "metric/canonical.h"

namespace libknng::cuda {

// In device memory, ascending by code.
struct SortedCodes {
  const std::uint64_t* codes;
  const std::uint32_t* numbers;  // of the points
};

// Codes and numbers of points, twice, because a sort goes from one copy to the other. In memory of the caller.
class HilbertOrder {
 public:
  // `memory` has bytes(count) and is 256-byte aligned.
  HilbertOrder(std::int64_t count, void* memory);
  static std::int64_t bytes(std::int64_t count);

  // Gives points [first, first + count) the codes of their canonical rows u, count x dim in device memory; none to
  // points without direction (`constants`, of the same points; null: all have one), which are counted in `without`.
  void encode(const HilbertGrid& grid, const double* u, const RowConstants* constants, std::int64_t first,
              std::int64_t count, unsigned long long* without, cudaStream_t stream) const;
  // Sorts the first `count`, of equal codes by number; to be done once.
  SortedCodes sort(std::int64_t count, cudaStream_t stream) const;

 private:
  std::uint64_t* codes_[2];
  std::uint32_t* numbers_[2];
  void* temporary_;
  std::int64_t temporary_bytes_;
  std::int64_t used_;
};

}  // namespace libknng::cuda
