// Balls of points (fused/balls.cuh): whatever points they are of, a pair of windows is looked at if some pair of its
// points has a low that is not above both cut-offs; and windows that are far apart are not.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <cuda_fp16.h>

#include "backend/cuda/fused/balls.cuh"
#include "backend/cuda/select/integer_terms.h"
#include "tests/gpu/gpu.cuh"
#include "tests/unit/values.h"

namespace {

using namespace libknng::cuda::fused;
using libknng::cuda::kNoIntegerTerm;
using libknng::cuda::kUnknownIntegerTerm;
using values::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Operand { half, two_pieces, byte };

// How points lie, by window of kWindow.
struct Shape {
  int count, dim;
  Operand operand;
  double apart, width;  // of windows' middles, and of points about them
};

// Operands and terms of some points; lows of pairs in fp64, whose roundings are far below those of terms.
struct Sample {
  int count, dim, second, stride;  // in values
  bool are_bytes;
  std::vector<std::byte> operands;
  std::vector<float> terms;  // of bytes the bits of integers
  double largest_square = 0;

  Sample(const Shape& s, Random& random)
      : count(s.count),
        dim(s.dim),
        second(s.operand == Operand::two_pieces ? 2 * ((s.dim + 7) / 8 * 8) : 0),
        stride((s.operand == Operand::two_pieces ? 4 : 1) * ((s.dim + 15) / 16 * 16)),
        are_bytes(s.operand == Operand::byte),
        operands(static_cast<std::size_t>(count * stride * (are_bytes ? 1 : 2))) {
    std::vector<double> middle(static_cast<std::size_t>(dim));
    for (int i = 0; i < count; ++i) {
      double square = 0;
      for (int t = 0; t < dim; ++t) {
        double& m = middle[static_cast<std::size_t>(t)];
        if (i % kWindow == 0) m = s.apart * (random.uniform());
        double x = m + s.width * (random.uniform());
        if (are_bytes) {
          x = std::clamp(std::nearbyint(x / 40), -127.0, 127.0);
          operands[static_cast<std::size_t>(i * stride + t)] = static_cast<std::byte>(static_cast<int>(x));
        } else {
          put(i, t, x);
          if (second > 0) put(i, second + t, x - value(i, t));
        }
        square += x * x;
      }
      largest_square = std::max(largest_square, square);
      // Bounds take something off; some points have no direction, of one nothing is known.
      const double off = square * 0x1p-9 * random.uniform();
      const bool none = i % 509 == 508, unknown = i == 595;
      const int integer = none      ? kNoIntegerTerm
                          : unknown ? kUnknownIntegerTerm
                                    : static_cast<int>(std::floor(square - off));
      const float halved = none ? kInfinity : unknown ? -kInfinity : static_cast<float>(square - off);
      terms.push_back(are_bytes ? std::bit_cast<float>(integer) : halved);
    }
  }

  void put(int i, int t, double x) {
    const __half h = __float2half(static_cast<float>(x));
    std::memcpy(operands.data() + (i * stride + t) * 2, &h, sizeof h);
  }
  double value(int i, int t) const {
    if (are_bytes)
      return static_cast<double>(static_cast<std::int8_t>(operands[static_cast<std::size_t>(i * stride + t)]));
    __half h;
    std::memcpy(&h, operands.data() + (i * stride + t) * 2, sizeof h);
    return static_cast<double>(__half2float(h));
  }
  double term(int i) const {
    const float bits = terms[static_cast<std::size_t>(i)];
    if (!are_bytes) return static_cast<double>(bits);
    const int integer = std::bit_cast<int>(bits);
    if (integer == kNoIntegerTerm) return static_cast<double>(kInfinity);
    return integer == kUnknownIntegerTerm ? -static_cast<double>(kInfinity) : integer;
  }
  double rest(int i, int t) const { return second > 0 ? value(i, second + t) : 0; }
  // t_i + t_j - 2 acc, of a product that leaves out that of the second pieces.
  double low(int i, int j) const {
    double product = 0;
    for (int t = 0; t < dim; ++t)
      product += value(i, t) * value(j, t) + value(i, t) * rest(j, t) + rest(i, t) * value(j, t);
    return term(i) + term(j) - 2 * product;
  }
};

// How a job is cut, and what its lists accept: the least low of a window's pairs with one of the other windows.
void expect_windows(const Shape& shape, bool both, int unit_columns, std::uint64_t seed, long long& clearly_far) {
  Random random(seed);
  const Sample points(shape, random);
  const int windows = (shape.count + kWindow - 1) / kWindow;
  const auto size = static_cast<std::size_t>(windows);
  const auto first = [](int w) { return w * kWindow; };
  const auto last = [&](int w) { return std::min(first(w) + kWindow, shape.count); };
  std::vector<double> least(size * size, std::numeric_limits<double>::infinity());
  for (int a = 0; a < windows; ++a)
    for (int b = 0; b < windows; ++b)
      for (int i = first(a); i < last(a); ++i)
        for (int j = first(b); j < last(b); ++j)
          least[static_cast<std::size_t>(a) * size + static_cast<std::size_t>(b)] =
              std::min(least[static_cast<std::size_t>(a) * size + static_cast<std::size_t>(b)], points.low(i, j));
  // At the least low of its pairs with one another or with another window's, rounded up, or below all.
  std::vector<float> cutoffs(static_cast<std::size_t>(shape.count), -kInfinity);
  std::vector<float> highest(size);
  for (int a = 0; a < windows; ++a) {
    const std::int64_t with = shape.width == 0 || random.below(4) == 0 ? random.below(windows) : a;
    const double low = least[static_cast<std::size_t>(a) * size + static_cast<std::size_t>(with)];
    auto cutoff = static_cast<float>(low);
    if (static_cast<double>(cutoff) < low) cutoff = std::nextafter(cutoff, kInfinity);
    highest[static_cast<std::size_t>(a)] = cutoff;
    cutoffs[static_cast<std::size_t>(first(a) + random.below(last(a) - first(a)))] = cutoff;
  }

  const gpu::Array<std::byte> operands(points.operands);
  const gpu::Array<float> terms(points.terms), of_lists(cutoffs);
  libknng::cuda::DeviceContext context(0, std::numeric_limits<std::int64_t>::max());
  auto balls = libknng::cuda::taken<BallArrays>(context, shape.count, shape.dim);
  balls.find({operands.get(), points.stride, shape.dim, points.second, terms.get(), shape.count, points.are_bytes},
             context.stream);
  FusedWork job{};
  job.rows.rows = job.columns.rows = job.rows.columns = job.columns.columns = shape.count;
  job.rows.cutoffs = job.columns.cutoffs = of_lists.get();
  job.both = both;
  job.unit_columns = unit_columns;
  const int units_across = column_units(job);
  gpu::Array<std::uint64_t> near(static_cast<std::size_t>(windows * units_across));
  gpu::Array<float> room(2 * size);
  near.poison();
  find_near(job, balls.balls(), balls.balls(), room.get(), near.get(), context.stream);
  context.stream.wait();
  const std::vector<std::uint64_t> words = near.values();
  for (int a = 0; a < windows; ++a)
    for (int b = 0; b < windows; ++b) {
      const int unit = b * kWindow / unit_columns, bit = b * kWindow % unit_columns / kWindow;
      const bool is_near = (words[static_cast<std::size_t>(a * units_across + unit)] >> bit & 1) != 0;
      const double low = least[static_cast<std::size_t>(a) * size + static_cast<std::size_t>(b)];
      const bool wanted = low <= static_cast<double>(highest[static_cast<std::size_t>(a)]) ||
                          (both && low <= static_cast<double>(highest[static_cast<std::size_t>(b)]));
      gpu::expect(is_near || !wanted, "%d points, %d values, windows %d and %d: left out at %g", shape.count, shape.dim,
                  a, b, low);
      // Balls are small beside their distance, and so is what terms are below squares.
      const double accepted = std::max({0.0, static_cast<double>(highest[static_cast<std::size_t>(a)]),
                                        both ? static_cast<double>(highest[static_cast<std::size_t>(b)]) : 0.0});
      if (shape.width > 1 || !(low > 2 * accepted) || !(low > 0x1p-5 * points.largest_square)) continue;
      ++clearly_far;
      gpu::expect(!is_near, "%d points, %d values, windows %d and %d: not left out at %g, accepted %g", shape.count,
                  shape.dim, a, b, low, accepted);
    }
}

}  // namespace

int main() {
  gpu::need_device();
  std::uint64_t seed = 1;
  const int count = small_run() ? 600 : 1100;
  long long clearly_far = 0;
  for (const int dim : {1, 3, 8, 33, 100})
    for (const Operand operand : {Operand::half, Operand::two_pieces, Operand::byte})
      for (const double width : {0.0, 0.01, 1.0, 3000.0})
        for (const bool both : {false, true}) {
          expect_windows({count, dim, operand, 4000, width}, both, kWindow * static_cast<int>(1 + seed % 3), seed,
                         clearly_far);
          ++seed;
        }
  // So many dimensions that the sum of squares in fp32 is farther off than the roundings behind it.
  for (int repetition = 0; repetition < (small_run() ? 2 : 8); ++repetition)
    expect_windows({515, 3000, repetition % 2 == 1 ? Operand::two_pieces : Operand::half, 4000, 0}, true, kWindow,
                   seed++, clearly_far);
  gpu::expect(clearly_far > 50, "%lld windows are clearly far", clearly_far);
  return gpu::result();
}
