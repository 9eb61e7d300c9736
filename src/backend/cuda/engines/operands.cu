#include "backend/cuda/engines/operands.cuh"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/engines/integer_operands.cuh"
#include "backend/cuda/engines/median.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/rows/row_source.cuh"
#include "backend/cuda/select/integer_terms.h"
#include "core/division.h"
#include "prepare/drawn_columns.h"

namespace libknng::cuda {
namespace {

constexpr int kWarp = 32, kThreads = 256;
constexpr std::int64_t kCentreRows = 255;
static_assert(kCentreRows <= kMostMedianRows);
constexpr std::int64_t kBatchValues = std::int64_t{1} << 22;
constexpr int kPointsOfWarp = 4;
// Points of so many dimensions have a block each, since few are rounded together.
constexpr std::int64_t kLong = 1024;
// The largest value is just below 2^14: room for small ones above fp16's denormals, none lost above.
constexpr int kLargestExponent = 13;

// What rounding can do to a point, relative to its length, short of underflow. Of bytes: anything.
constexpr double rounding(Precision p) {
  return p == Precision::int8 ? 0 : p == Precision::fp16 ? 0x1p-11 : p == Precision::two_piece ? 0x1p-22 : 0x1p-24;
}

// Calls f(first, count, u) for all points in order, batch by batch: u gets their canonical rows. For other types than
// floats, which kernels are not compiled for one by one.
template <class F>
void for_batches(const CanonicalView& points, const std::int64_t* order, double* u, cudaStream_t stream, F&& f) {
  const std::int64_t n = points.rows.rows, together = rounded_together(n, points.rows.dim);
  for (std::int64_t first = 0; first < n; first += together) {
    const std::int64_t count = std::min(together, n - first);
    load_canonical(points, order ? order + first : nullptr, first, count, u, stream);
    f(first, count, u);
  }
}

// Both are numbers, which fmax() would look for.
__device__ double larger(double a, double b) { return a > b ? a : b; }

// The largest |u - centre| of a point, as the bits of a non-negative double, which are ordered like it. A warp has some
// points at a time, for which it reads the centre once; the last one again where there are no more.
template <class Source>
__global__ void __launch_bounds__(kThreads) find_largest(Source points, std::int64_t count, std::int64_t dim,
                                                         const double* centre, unsigned long long* largest) {
  constexpr std::int64_t kWarps = kThreads / kWarp;
  double mine = 0;
  for (std::int64_t i = kPointsOfWarp * (blockIdx.x * kWarps + threadIdx.x / kWarp); i < count;
       i += kPointsOfWarp * kWarps * gridDim.x) {
    decltype(points.row(0)) u[kPointsOfWarp];
#pragma unroll
    for (int j = 0; j < kPointsOfWarp; ++j) u[j] = points.row(min(i + j, count - 1));
#pragma unroll 2
    for (std::int64_t t = threadIdx.x % kWarp; t < dim; t += kWarp) {
      const double c = centre[t];
#pragma unroll
      for (int j = 0; j < kPointsOfWarp; ++j) mine = larger(mine, fabs(u[j][t] - c));
    }
  }
  const auto of_two = [](double a, double b) { return larger(a, b); };
  mine = fold_lanes(mine, of_two);
  __shared__ double of_warps[kWarps];
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  mine = fold_lanes(of_warps[threadIdx.x % kWarps], of_two);
  if (threadIdx.x == 0) atomicMax(largest, static_cast<unsigned long long>(__double_as_longlong(mine)));
}

// Of the threads of a point, which are a warp or the block.
template <int kWarps>
__device__ OperandSums sum_of_point(OperandSums mine) {
  mine = {sum_of_lanes(mine.square), sum_of_lanes(mine.residual), sum_of_lanes(mine.piece)};
  if constexpr (kWarps > 1) {
    __shared__ double of_warps[kWarps][3];
    double* const of_mine = of_warps[threadIdx.x / kWarp];
    if (threadIdx.x % kWarp == 0) {
      of_mine[0] = mine.square;
      of_mine[1] = mine.residual;
      of_mine[2] = mine.piece;
    }
    __syncthreads();
    const double* const other = of_warps[threadIdx.x % kWarps];
    mine = {sum_of_lanes<kWarps>(other[0]), sum_of_lanes<kWarps>(other[1]), sum_of_lanes<kWarps>(other[2])};
  }
  return mine;
}

// So that products are finite: fp16 holds no more, and sums of products of fp32 stay below 2^127.
__device__ double within(double x, double limit) { return fmin(fmax(x, -limit), limit); }

struct Byte {
  using Value = std::int8_t;
  static __device__ Value round(double x) { return static_cast<Value>(within(rint(x), kLargestByte)); }
  static __device__ double exact(Value a) { return static_cast<double>(a); }
};
struct Fp16 {
  using Value = __half;
  static __device__ Value round(double x) { return __double2half(within(x, 65504.0)); }
  static __device__ double exact(Value a) { return static_cast<double>(__half2float(a)); }
};
struct Fp32 {
  using Value = float;
  static __device__ Value round(double x) { return __double2float_rn(within(x, 0x1p40)); }
  static __device__ double exact(Value a) { return static_cast<double>(a); }
};

// So many warps a point: operands and sums.
template <class Type, Precision kPrecision, int kWarps, class Source>
__global__ void __launch_bounds__(kThreads)
    round_rows(Source points, const std::int64_t* order, std::int64_t count, std::int64_t dim, const double* centre,
               double scale_a, double scale_b, typename Type::Value* values, OperandSums* sums) {
  constexpr int kTogether = kWarp * kWarps;
  static_assert(kWarps == 1 || kTogether == kThreads);
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kTogether;
  if (i >= count) return;
  const std::int64_t pitch = pitch_of(dim, kPrecision), stride = stride_of(dim, kPrecision);
  auto* const point = values + i * stride;
  const auto u = points.row(order ? order[i] : i);
  OperandSums mine;
#pragma unroll 4
  for (std::int64_t t = threadIdx.x % kTogether; t < pitch; t += kTogether) {
    const double x = t < dim ? (u[t] - centre[t]) * scale_a * scale_b : 0;
    const auto a = Type::round(x);
    point[t] = a;
    double left = x - Type::exact(a);
    if constexpr (kPrecision == Precision::two_piece) {
      const auto b = Type::round(left);
      point[pitch + t] = point[3 * pitch + t] = a;
      point[2 * pitch + t] = b;
      left -= Type::exact(b);
      mine.piece += Type::exact(b) * Type::exact(b);
    }
    mine.square += x * x;
    mine.residual += left * left;
  }
  for (std::int64_t t = pieces_of(kPrecision) * pitch + threadIdx.x % kTogether; t < stride; t += kTogether)
    point[t] = Type::round(0);
  mine = sum_of_point<kWarps>(mine);
  if (threadIdx.x % kTogether == 0) sums[i] = mine;
}

// Floats that are not negative have the order of their bits.
__global__ void find_extremes(const OperandSums* sums, std::int64_t count, std::int64_t dim, float expected,
                              OperandExtremes* extremes) {
  float ratio = 0, longest = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const OperandSums sum = sums[i];
    const float lost = sum.square > 0 ? __double2float_ru(sqrt(sum.residual / sum.square)) : 0;
    if (lost <= expected) ratio = fmaxf(ratio, lost);
    longest = fmaxf(longest, __double2float_ru(LowBound::length(sum, dim)));
  }
  const unsigned of_ratio = warp_max(__float_as_uint(ratio)), of_longest = warp_max(__float_as_uint(longest));
  if (threadIdx.x % kWarp != 0) return;
  atomicMax(reinterpret_cast<unsigned*>(&extremes->ratio), of_ratio);
  atomicMax(reinterpret_cast<unsigned*>(&extremes->longest), of_longest);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Terms as floats, and those that say more than a number.
struct FloatTerms {
  static constexpr float none = kInfinity, unknown = -kInfinity;
  static __device__ float round_down(double term) { return __double2float_rd(term); }
};
struct IntegerTerms {
  static constexpr std::int32_t none = kNoIntegerTerm, unknown = kUnknownIntegerTerm;
  static __device__ std::int32_t round_down(double term) {
    return fabs(term) < kLargestRoundedTerm ? __double2int_rd(term) : unknown;
  }
};

template <class Terms, class Term>
__global__ void make_terms(const OperandSums* sums, std::int64_t count, LowBound bound, const RowConstants* constants,
                           const std::int64_t* order, Term* terms, float* bounds) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const bool directionless = constants && constants[order ? order[i] : i].factor == 0;
  float b = __double2float_ru(bound.bound(sums[i]));
  Term term = b < 0x1p120F ? Terms::round_down(bound.term(sums[i], static_cast<double>(b))) : Terms::unknown;
  if (term == Terms::unknown) b = kInfinity;  // nothing is known of its keys
  bounds[i] = directionless ? 0 : b;
  terms[i] = directionless ? Terms::none : term;
}

__global__ void gather_pieces(const uint4* values, const std::uint32_t* places, const std::int64_t* list,
                              std::int64_t count, std::int64_t pieces, uint4* to) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count * pieces;
       i += step) {
    const std::int64_t point = list[i / pieces];
    to[i] = values[(places ? places[point] : point) * pieces + i % pieces];
  }
}
// Copies of the listed points' terms behind all `count` of them.
__global__ void copy_terms(float* terms, float* bounds, std::int64_t count, const std::int64_t* drawn,
                           std::int64_t copies) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= copies) return;
  terms[count + i] = terms[drawn[i]];
  if (bounds) bounds[count + i] = bounds[drawn[i]];
}

// Every step-th number.
__global__ void spread(std::int64_t* numbers, std::int64_t count, std::int64_t step) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = i * step;
}

// What finding the centre of points takes.
struct CentreRows {
  CentreRows(std::int64_t count, std::int64_t dim, ArraySource& source)
      : rows(source.take<std::int64_t>(count)), sample(source.take<double>(count * dim)) {}

  DeviceArray<std::int64_t> rows;
  DeviceArray<double> sample;
};
// The order in which operands take their arrays: values with what rounding measures, what rounding takes beside, terms
// with bounds.
struct RoundedPoints {
  RoundedPoints(std::int64_t count, std::int64_t drawn, std::int64_t dim, Precision precision, ArraySource& source)
      : values(source.take<std::byte>(operand_bytes(count + drawn, dim, precision))),
        sums(source.take<OperandSums>(count)),
        drawn_points(source.take<std::int64_t>(drawn)) {}

  DeviceArray<std::byte> values;
  DeviceArray<OperandSums> sums;
  DeviceArray<std::int64_t> drawn_points;
};
struct Rounding {
  Rounding(std::int64_t count, std::int64_t dim, ArraySource& source)
      : canonical(source.take<double>(rounded_together(count, dim) * dim)), extremes(source.take<OperandExtremes>(1)) {}

  DeviceArray<double> canonical;  // rows of a batch
  DeviceArray<OperandExtremes> extremes;
};
struct TermsAndBounds {
  TermsAndBounds(std::int64_t count, ArraySource& source)
      : terms(source.take<float>(count)), bounds(source.take<float>(count)) {}

  DeviceArray<float> terms, bounds;
};
struct IntegerPoints {
  IntegerPoints(std::int64_t count, std::int64_t drawn, std::int64_t dim, ArraySource& source)
      : values(source.take<std::byte>(operand_bytes(count + drawn, dim, Precision::int8))),
        terms(source.take<float>(count + drawn)),
        drawn_points(source.take<std::int64_t>(drawn)) {}

  DeviceArray<std::byte> values;
  DeviceArray<float> terms;
  DeviceArray<std::int64_t> drawn_points;
};

// Calls f(rows, count) with some canonical rows, spread over the data.
template <class F>
void with_some_rows(const Points& points, DeviceContext& context, F&& f) {
  const std::int64_t n = points.count(), d = points.dim();
  const std::int64_t count = std::clamp<std::int64_t>(n / 2, 1, std::min(kCentreRows, rounded_together(n, d)));
  const auto [rows, sample] = taken<CentreRows>(context, count, d);
  spread<<<blocks_for(count, kThreads), kThreads, 0, context.stream>>>(rows.data(), count, n / count);
  check_launch();
  load_canonical(points.view(), rows.data(), 0, count, sample.data(), context.stream);
  f(sample.data(), count);
}

}  // namespace

std::int64_t rounded_together(std::int64_t count, std::int64_t dim) {
  return std::min(std::max<std::int64_t>(1, kBatchValues / dim), count);
}

Frame::Frame(const Metric& metric, const Points& columns, DeviceContext& context)
    : arrays_(taken<Arrays>(context, columns.dim())) {
  // Inner products do not survive a shift. An outlier among some rows moves their median little.
  if (metric.term != Term::product)
    with_some_rows(columns, context, [&](const double* rows, std::int64_t count) {
      median_of_rows(rows, count, columns.dim(), arrays_.centre.data(), context.stream);
    });
  else
    check(cudaMemsetAsync(arrays_.centre.data(), 0, static_cast<std::size_t>(8 * columns.dim()), context.stream));
  check(cudaMemsetAsync(arrays_.largest.data(), 0, sizeof(unsigned long long), context.stream));
}

void Frame::cover(const CanonicalView& view, DeviceContext& context) {
  constexpr std::int64_t kMostBlocks = 2048;
  const std::int64_t count = view.rows.rows, of_block = kThreads / kWarp * kPointsOfWarp;
  const auto blocks = blocks_for(count, of_block, kMostBlocks);
  visit_source(view, [&](const auto& points) {
    find_largest<<<blocks, kThreads, 0, context.stream>>>(points, count, view.rows.dim, arrays_.centre.data(),
                                                          arrays_.largest.data());
    check_launch();
  });
}

void Frame::settle(int headroom, Staging& staging, const Stream& stream) {
  double found = 0;
  staging.download(arrays_.largest.data(), &found, sizeof found, stream);
  const int exponent = kLargestExponent - headroom - (found > 0 ? std::ilogb(found) : 0);
  exponent_ = std::clamp(exponent, -LowBound::kLargestExponent, LowBound::kLargestExponent);
}

void Frame::settle_bytes(const Points& columns, Staging& staging, DeviceContext& context) {
  with_some_rows(columns, context, [&](const double* rows, std::int64_t count) {
    byte_scale_ = choose_byte_scale(rows, count, columns.dim(), centre(), exponent_, staging, context);
  });
}

double Frame::factor(Precision precision) const noexcept {
  return precision == Precision::int8 ? byte_scale_.factor : std::ldexp(1.0, exponent_);
}

std::int64_t Frame::bytes(std::int64_t count, std::int64_t dim) {
  return bytes_of<Arrays>(dim) + bytes_of<CentreRows>(std::min(kCentreRows, rounded_together(count, dim)), dim);
}

void round_points(const RoundJob& job, cudaStream_t stream) {
  const std::int64_t n = job.points.rows.rows, dim = job.points.rows.dim;
  if (n == 0) return;
  // The factor in two: neither overflows, and one is a power of two.
  int exponent = 0;
  const double bits = std::frexp(job.frame->factor(job.precision), &exponent);
  const double scale_a = std::ldexp(bits, exponent / 2), scale_b = std::ldexp(1.0, exponent - exponent / 2);
  const auto round = [&](const auto& points, const std::int64_t* order, std::int64_t first, std::int64_t count) {
    using Source = std::remove_cvref_t<decltype(points)>;
    const auto run = [&]<class Type, Precision kPrecision>(Type, std::integral_constant<Precision, kPrecision>) {
      auto* const values = reinterpret_cast<typename Type::Value*>(job.values) + first * stride_of(dim, kPrecision);
      const auto start = [&](auto kernel, int warps) {
        const auto blocks = blocks_for(count * warps * kWarp, kThreads);
        kernel<<<blocks, kThreads, 0, stream>>>(points, order, count, dim, job.frame->centre(), scale_a, scale_b,
                                                values, job.sums + first);
        check_launch();
      };
      if (dim < kLong)
        start(round_rows<Type, kPrecision, 1, Source>, 1);
      else
        start(round_rows<Type, kPrecision, kThreads / kWarp, Source>, kThreads / kWarp);
    };
    switch (job.precision) {
      case Precision::int8: return run(Byte(), std::integral_constant<Precision, Precision::int8>());
      case Precision::fp16: return run(Fp16(), std::integral_constant<Precision, Precision::fp16>());
      case Precision::two_piece: return run(Fp16(), std::integral_constant<Precision, Precision::two_piece>());
      default: return run(Fp32(), std::integral_constant<Precision, Precision::fp32>());
    }
  };
  visit_source(job.points, [&](const auto& source) {
    if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(source)>::Element, float>)
      round(source, job.order, 0, n);
    else
      for_batches(job.points, job.order, job.u, stream, [&](std::int64_t first, std::int64_t count, const double* u) {
        round(RowSource<double, Transform::identity>{u, dim, 1, nullptr}, nullptr, first, count);
      });
  });
  constexpr std::int64_t kMostBlocks = 264;
  const auto blocks = blocks_for(n, kThreads, kMostBlocks);
  const auto expected = static_cast<float>(rounding(job.precision));
  find_extremes<<<blocks, kThreads, 0, stream>>>(job.sums, n, dim, expected, job.extremes);
  check_launch();
}

void find_terms(const CanonicalView& points, const std::int64_t* order, const OperandSums* sums, const LowBound& bound,
                bool integers, float* terms, float* bounds, cudaStream_t stream) {
  const std::int64_t n = points.rows.rows;
  const auto blocks = blocks_for(n, kThreads);
  const RowConstants* const constants = has_directions(points.transform) ? points.constants : nullptr;
  if (integers)
    make_terms<IntegerTerms><<<blocks, kThreads, 0, stream>>>(sums, n, bound, constants, order,
                                                              reinterpret_cast<std::int32_t*>(terms), bounds);
  else
    make_terms<FloatTerms><<<blocks, kThreads, 0, stream>>>(sums, n, bound, constants, order, terms, bounds);
  check_launch();
}

std::int64_t Operands::bytes(std::int64_t count, std::int64_t drawn, std::int64_t dim) {
  // Two pieces take the most.
  return bytes_of<RoundedPoints>(count, drawn, dim, Precision::two_piece) + bytes_of<Rounding>(count, dim) +
         bytes_of<TermsAndBounds>(count + drawn);
}

Operands::Operands(const Points& points, const std::int64_t* order, std::int64_t drawn, const Frame& frame,
                   Precision precision, Staging& staging, DeviceContext& context)
    : precision_(precision) {
  const std::int64_t n = points.count(), d = points.dim();
  auto rounded = taken<RoundedPoints>(context, n, drawn, d, precision);
  values_ = std::move(rounded.values);
  sums_ = std::move(rounded.sums);
  drawn_ = std::move(rounded.drawn_points);
  const auto [canonical, extremes] = taken<Rounding>(context, n, d);
  check(cudaMemsetAsync(extremes.data(), 0, sizeof extremes_, context.stream));
  round_points(
      {points.view(), order, &frame, precision, values_.data(), sums_.data(), extremes.data(), canonical.data()},
      context.stream);
  copy_drawn_values(n, d, context);
  staging.download(extremes.data(), &extremes_, sizeof extremes_, context.stream);
}

std::int64_t Operands::integer_bytes(std::int64_t count, std::int64_t drawn, std::int64_t dim) {
  return bytes_of<IntegerPoints>(count, drawn, dim);
}

Operands::Operands(const Points& points, const std::int64_t* order, std::int64_t drawn, const Metric& metric,
                   DeviceContext& context)
    : precision_(Precision::int8) {
  const std::int64_t n = points.count(), d = points.dim();
  auto as_bytes = taken<IntegerPoints>(context, n, drawn, d);
  values_ = std::move(as_bytes.values);
  terms_ = std::move(as_bytes.terms);
  drawn_ = std::move(as_bytes.drawn_points);
  make_integer_operands(points.view().rows, order, metric, values_.data(), terms_.data(), context.stream);
  copy_drawn_values(n, d, context);
  copy_drawn_terms(n, context);
}

void gather_operands(const std::byte* values, const std::uint32_t* places, const std::int64_t* list, std::int64_t count,
                     std::int64_t bytes, std::byte* to, cudaStream_t stream) {
  const std::int64_t pieces = bytes / std::int64_t{sizeof(uint4)};
  const std::int64_t blocks = std::min<std::int64_t>(ceil_div(count * pieces, kThreads), 4096);
  gather_pieces<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(values), places, list, count, pieces, reinterpret_cast<uint4*>(to));
  check_launch();
}

// And points of zeros behind them. Waits where some are drawn.
void Operands::copy_drawn_values(std::int64_t count, std::int64_t dim, DeviceContext& context) {
  const std::int64_t drawn = drawn_.size(), bytes = stride_of(dim, precision_) * value_bytes(precision_);
  const cudaStream_t stream = context.stream;
  if (points_behind(precision_) > 0)
    check(cudaMemsetAsync(values_.data() + (count + drawn) * bytes, 0,
                          static_cast<std::size_t>(points_behind(precision_) * bytes), stream));
  if (drawn == 0) return;
  std::vector<std::int64_t> list(static_cast<std::size_t>(drawn));
  for (std::int64_t s = 0; s < drawn; ++s)
    list[static_cast<std::size_t>(s)] = drawn_point(count, drawn, scattered_share(s, drawn));
  check(cudaMemcpyAsync(drawn_.data(), list.data(), list.size() * sizeof list[0], cudaMemcpyHostToDevice, stream));
  gather_operands(values_.data(), nullptr, drawn_.data(), drawn, bytes, values_.data() + count * bytes, stream);
  context.stream.wait();  // the list ends here
}

void Operands::copy_drawn_terms(std::int64_t count, DeviceContext& context) {
  const std::int64_t drawn = drawn_.size();
  if (drawn == 0) return;
  copy_terms<<<blocks_for(drawn, kThreads), kThreads, 0, context.stream>>>(terms_.data(), bounds_.data(), count,
                                                                           drawn_.data(), drawn);
  check_launch();
}

void Operands::settle(const Points& points, const std::int64_t* order, const LowBound& bound, DeviceContext& context) {
  const std::int64_t n = points.count(), drawn = drawn_.size();
  auto of_points = taken<TermsAndBounds>(context, n + drawn);
  terms_ = std::move(of_points.terms);
  bounds_ = std::move(of_points.bounds);
  find_terms(points.view(), order, sums_.data(), bound, precision_ == Precision::int8, terms_.data(), bounds_.data(),
             context.stream);
  sums_ = {};
  copy_drawn_terms(n, context);
}

}  // namespace libknng::cuda
