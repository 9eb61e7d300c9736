// Points in balls, two for each window of kWindow consecutive ones: where the balls of two windows are so far apart
// that no pair of their points is wanted, all products of these are left out (docs/internals/error-bound.md, "Balls").
// One window has the end of a cluster and the beginning of the next: in two balls it is near to both and to no others.
// Knows nothing of the order of points.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "core/division.h"

namespace libknng::cuda::fused {

// Operands of points: bytes, whose terms are integers; or halves, in one piece or in two, whose sum they are: `second`
// halves behind the first piece's.
struct BallPoints {
  const std::byte* operands;
  std::int64_t stride, dim, second;  // second 0: one piece
  const float* terms;
  std::int64_t count;
  bool are_bytes;
};

constexpr std::int64_t in_windows(std::int64_t points) { return ceil_div(points, kWindow); }

inline constexpr int kBallsOfWindow = 2;

// Arrays by ball, those of a window together.
struct Balls {
  const float* centres;   // dim each
  const float* radii;     // no operand is farther from the centre
  const float* excesses;  // a low may be below the squared distance of its operands by those of both balls
  std::int64_t dim;

  Balls from(std::int64_t first_point) const {
    const std::int64_t first = first_point / kWindow * kBallsOfWindow;
    return {centres + first * dim, radii + first, excesses + first, dim};
  }
};

class BallArrays {
 public:
  BallArrays(std::int64_t points, std::int64_t dim, ArraySource& source)
      : dim_(dim),
        centres_(source.take<float>(kBallsOfWindow * in_windows(points) * dim)),
        radii_(source.take<float>(kBallsOfWindow * in_windows(points))),
        excesses_(source.take<float>(kBallsOfWindow * in_windows(points))) {}

  Balls balls() const { return {centres_.data(), radii_.data(), excesses_.data(), dim_}; }
  void find(const BallPoints& points, cudaStream_t stream);

 private:
  std::int64_t dim_;
  DeviceArray<float> centres_, radii_, excesses_;
};

// Writes which windows of units may have wanted pairs to `near`, one word a unit, as FusedWork has them. The job is cut
// into units, and its first row and first column are the first of a window. cutoffs: room for in_windows() of its rows
// and of its columns.
void find_near(const FusedWork& job, const Balls& rows, const Balls& columns, float* cutoffs, std::uint64_t* near,
               cudaStream_t stream);

}  // namespace libknng::cuda::fused
