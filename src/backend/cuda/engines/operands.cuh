// Points as the product units multiply them: canonical rows minus a centre, scaled, rounded to bytes, to fp16 in one or
// two pieces or to fp32, with what the bound needs to know of each (refine/low_bound.h); or 8-bit integers, which need
// no bound (integer_operands.cuh). Knows nothing of tiles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/engines/byte_scale.cuh"
#include "backend/cuda/rows/points.cuh"
#include "core/division.h"
#include "metric/metric.h"
#include "refine/low_bound.h"

namespace libknng::cuda {

// Bytes, or in the order of the ladder.
enum class Precision { int8, fp16, two_piece, fp32 };

// What both sides have in common. Any centre is right; one amid the points makes small operands.
class Frame {
 public:
  // The centre: the median of some columns (0 for inner products, which do not survive a shift).
  Frame(const Metric& metric, const Points& columns, DeviceContext& context);
  // The scale is the one at which the largest difference from the centre, of all points covered, just fits fp16; or
  // 2^headroom as large a one does, for points that were not. What does not fit the precision is rounded to what does:
  // a point far from its operand, as the bound sees.
  void cover(const CanonicalView& view, DeviceContext& context);
  void settle(int headroom, Staging& staging, const Stream& stream);
  // Bytes have a scale of their own; before any point is rounded to them.
  void settle_bytes(const Points& columns, Staging& staging, DeviceContext& context);
  static std::int64_t bytes(std::int64_t count, std::int64_t dim);  // while the centre of so many points is found

  const double* centre() const noexcept { return arrays_.centre.data(); }
  // From canonical rows to what is rounded.
  double factor(Precision precision) const noexcept;
  // What rounding to bytes loses of most points, relative to their length.
  double byte_ratio() const noexcept { return byte_scale_.ratio; }

 private:
  struct Arrays {
    Arrays(std::int64_t dim, ArraySource& source)
        : centre(source.take<double>(dim)), largest(source.take<unsigned long long>(1)) {}

    DeviceArray<double> centre;
    DeviceArray<unsigned long long> largest;
  };

  Arrays arrays_;
  int exponent_ = 0;
  ByteScale byte_scale_;
};

constexpr std::int64_t value_bytes(Precision p) { return p == Precision::int8 ? 1 : p == Precision::fp32 ? 4 : 2; }
// Values of one piece of a point: 16 bytes or more.
constexpr std::int64_t pitch_of(std::int64_t dim, Precision p) {
  const std::int64_t grain = p == Precision::int8 ? 16 : 8;
  return round_up(dim, grain);
}
// A point in two pieces h + l lies there as h h l h. The first three times the last three of another are h h', h l' and
// l h': one product of three times as many terms (l l' is nothing beside the roundings), and the tile is written once.
constexpr int pieces_of(Precision p) { return p == Precision::two_piece ? 4 : 1; }
constexpr std::int64_t terms_of(std::int64_t dim, Precision p) {
  return (p == Precision::two_piece ? 3 : 1) * pitch_of(dim, p);
}
// Length in units of two bytes, in which the fused kernels count.
constexpr std::int64_t halves_of(std::int64_t values, Precision p) { return values * value_bytes(p) / 2; }
// Halves from one point to the next: whole lines of a cache, or a part of one. So 128 bytes of a point that kernels
// copy at a time are in one line.
constexpr std::int64_t in_lines(std::int64_t halves) {
  constexpr std::int64_t kLine = 64;
  std::int64_t grain = 1;  // not by std::bit_ceil(), of which nvcc 13.0 makes nothing in device code
  while (grain < std::min(halves, kLine)) grain *= 2;
  return round_up(halves, grain);
}
// Values from one point to the next.
constexpr std::int64_t stride_of(std::int64_t dim, Precision p) {
  const std::int64_t values = pieces_of(p) * pitch_of(dim, p);
  return p == Precision::fp32 ? values : in_lines(halves_of(values, p)) * 2 / value_bytes(p);
}
// Of bytes a tile takes columns by so many (product.cpp): it may read points that are behind the last.
constexpr std::int64_t kColumnGrain = 4;
constexpr std::int64_t points_behind(Precision p) { return p == Precision::int8 ? kColumnGrain - 1 : 0; }
constexpr std::int64_t operand_bytes(std::int64_t count, std::int64_t dim, Precision p) {
  return (count + points_behind(p)) * stride_of(dim, p) * value_bytes(p);
}
// Canonical rows in fp64 that are on the device at a time while points are rounded: so many stay in its L2.
std::int64_t rounded_together(std::int64_t count, std::int64_t dim);

// Where point `row` is, of those that are multiplied: stride_of() values each, zeros behind each piece's dim and behind
// the last piece.
inline const std::byte* operand_of(const std::byte* first, std::int64_t row, Precision precision, std::int64_t dim) {
  return first + row * stride_of(dim, precision) * value_bytes(precision);
}

// Of some points, for LowBound; both only grow.
struct OperandExtremes {
  float ratio = 0;    // the largest r / |x| of those that rounding explains; of bytes none
  float longest = 0;  // no l is above it

  OperandExtremes with(const OperandExtremes& other) const {
    return {std::max(ratio, other.ratio), std::max(longest, other.longest)};
  }
};

// Rounds all points of a view, in the order of the rows or in another: order[i] (device memory) is the row that comes
// i-th. u: of rounded_together() x dim; sums: one a point; extremes: one, which is added to.
struct RoundJob {
  CanonicalView points;
  const std::int64_t* order = nullptr;
  const Frame* frame = nullptr;
  Precision precision{};
  std::byte* values = nullptr;
  OperandSums* sums = nullptr;
  OperandExtremes* extremes = nullptr;
  double* u = nullptr;
};
void round_points(const RoundJob& job, cudaStream_t stream);
// Terms (+inf: without direction) and bounds of the view's points, from their sums, in the same order. integers: terms
// are integers by their bits (select/integer_terms.h).
void find_terms(const CanonicalView& points, const std::int64_t* order, const OperandSums* sums, const LowBound& bound,
                bool integers, float* terms, float* bounds, cudaStream_t stream);

// Operands of points list[i], i < count (device memory), one behind the other; of `bytes` each, a multiple of 16. Where
// there are places, operands lie in the order of these. Asynchronous.
void gather_operands(const std::byte* values, const std::uint32_t* places, const std::int64_t* list, std::int64_t count,
                     std::int64_t bytes, std::byte* to, cudaStream_t stream);

// order: as above. drawn: of so many points, drawn at random (prepare/drawn_columns.h; a power of two), a copy lies
// behind all others.
class Operands {
 public:
  Operands(const Points& points, const std::int64_t* order, std::int64_t drawn, const Frame& frame, Precision precision,
           Staging& staging, DeviceContext& context);
  // With any precision, while it is made.
  static std::int64_t bytes(std::int64_t count, std::int64_t drawn, std::int64_t dim);
  // Of points that are bytes: complete.
  Operands(const Points& points, const std::int64_t* order, std::int64_t drawn, const Metric& metric,
           DeviceContext& context);
  static std::int64_t integer_bytes(std::int64_t count, std::int64_t drawn, std::int64_t dim);

  const OperandExtremes& extremes() const noexcept { return extremes_; }
  // Terms and bounds, once the extremes of both sides are known.
  void settle(const Points& points, const std::int64_t* order, const LowBound& bound, DeviceContext& context);

  const std::byte* values() const noexcept { return values_.data(); }
  const float* terms() const noexcept { return terms_.data(); }    // +inf: without direction
  const float* bounds() const noexcept { return bounds_.data(); }  // null: of points that are bytes

 private:
  void copy_drawn_values(std::int64_t count, std::int64_t dim, DeviceContext& context);
  void copy_drawn_terms(std::int64_t count, DeviceContext& context);

  Precision precision_;
  OperandExtremes extremes_;
  DeviceArray<std::byte> values_;
  DeviceArray<OperandSums> sums_;
  DeviceArray<std::int64_t> drawn_;  // whose copies those behind all points are
  DeviceArray<float> terms_, bounds_;
};

}  // namespace libknng::cuda
