// What attacks the sums of products: pairs of points whose products lose what a unit can lose, in fp16, in two pieces
// and in fp32, and the comparison with the bound of the unit (rounding_model.h) and with the one by squares that proofs
// build on (refine/low_bound.h). Knows nothing of who multiplies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "backend/cuda/engines/operands.cuh"
#include "backend/cuda/engines/product.cuh"
#include "backend/cuda/engines/rounding_model.h"
#include "core/dtype.h"
#include "gpu.cuh"
#include "tests/unit/values.h"

namespace attack {

using namespace libknng;
using namespace libknng::cuda;
using gpu::expect;
using values::Random;

// Coordinate t of a point of dim coordinates, before it is rounded.
struct Coordinate {
  std::int64_t t, dim;
  bool column;  // the point is one of the tile's columns
};
struct Kind {
  const char* name;
  double (*value)(const Coordinate& p, Random& random);
};

inline double normal(Random& r) {
  constexpr double kTurn = 6.283185307179586;
  return std::sqrt(-2 * std::log(r.uniform(0x1p-60, 1))) * std::cos(kTurn * r.uniform());
}
// Its square is just below 2^-bits; fp16 holds it.
inline double root_below(int bits) {
  return bits % 2 ? std::ldexp(1.4140625, -(bits + 1) / 2) : std::ldexp(1 - 0x1p-11, -bits / 2);
}
// One product of 1, all others just below 2^-bits: nothing is left of them where that is the last bit of what is added
// to 1.
template <int bits>
inline double large_first(const Coordinate& p, Random&) {
  return p.t == 0 ? 1 : root_below(bits);
}
// Grows from 2^-14 to 2^14.
inline double growing(double position, Random& r) {
  return std::ldexp(r.uniform(1, 1.999), static_cast<int>(28 * position) - 14);
}
inline double position(const Coordinate& p) { return static_cast<double>(p.t) / static_cast<double>(p.dim); }

inline const Kind kKinds[] = {
    {"normal", [](const Coordinate&, Random& r) { return normal(r); }},
    {"positive", [](const Coordinate&, Random& r) { return r.uniform(0.5, 1); }},
    {"zeros", [](const Coordinate&, Random&) { return 0.0; }},
    // The second piece is as long as it gets.
    {"equal", [](const Coordinate&, Random&) { return 1 + 0x1p-11; }},
    // The product is a tie in single precision: whatever the unit, the result is off by half a unit in the last place.
    {"half way",
     [](const Coordinate& p, Random&) {
       const double first = p.dim == 1 ? 1 + 0x1p-12 : 1;
       return p.t == 0 ? first : p.t == 1 ? 0x1p-12 : 0;
     }},
    // Alignment with as many fraction bits as fp32, one more, and so on; 27: 16 together are lost in the sum.
    {"large first, 23", large_first<23>},
    {"large first, 24", large_first<24>},
    {"large first, 25", large_first<25>},
    {"large first, 26", large_first<26>},
    {"large first, 27", large_first<27>},
    {"large first, negative",
     [](const Coordinate& p, Random&) { return p.t == 0 ? (p.column ? -1.0 : 1.0) : root_below(25); }},
    {"large amid", [](const Coordinate& p, Random&) { return p.t == p.dim / 2 ? 1 : root_below(25); }},
    {"large last", [](const Coordinate& p, Random&) { return p.t == p.dim - 1 ? 1 : root_below(25); }},
    // Two products each add up to zero.
    {"alternating",
     [](const Coordinate& p, Random&) {
       const double x = 1 + static_cast<double>(p.t / 2 * 37 % 101) / 101;
       return p.column && p.t % 2 ? -x : x;
     }},
    {"growing", [](const Coordinate& p, Random& r) { return growing(position(p), r); }},
    {"falling", [](const Coordinate& p, Random& r) { return growing(1 - position(p), r); }},
    {"huge", [](const Coordinate&, Random& r) { return (r.below(2) ? 65504 : -65504) * r.uniform(0.5, 1); }},
    {"fp16 denormals",
     [](const Coordinate&, Random& r) { return static_cast<double>(r.below(2047) - 1023) * 0x1p-24; }},
    // Small products beside one of a denormal or of zero, whose exponent is large where such factors have that of the
    // smallest normal number.
    {"smallest and large",
     [](const Coordinate& p, Random&) { return p.column ? (p.t % 16 == 0 ? 0x1p15 : 1 - 0x1p-11) : 0x1p-24; }},
    {"zeros amid the smallest", [](const Coordinate& p, Random&) { return p.t % 16 == 0 ? 0 : 0x1p-24; }},
    // Products that are denormals of fp32, and less.
    {"tiny", [](const Coordinate&, Random& r) { return std::ldexp(r.uniform(), -60 - static_cast<int>(r.below(85))); }},
};
inline constexpr auto kKindCount = static_cast<std::int64_t>(std::size(kKinds));

struct Size {
  std::int64_t rows, columns;
};
// Every pair of kinds is in each. cuBLAS's own tiles have up to 256 rows: the large one takes some in both directions.
inline constexpr Size kSmall{41, 72}, kLarge{300, 520};
// Products of so few rows or columns cuBLAS may do without tensor cores.
inline constexpr Size kNarrow[] = {{1, 72}, {2, 72}, {3, 520}, {5, 520}, {72, 1}, {72, 2}, {520, 3}, {520, 5}, {1, 1}};
static_assert(kSmall.rows >= kKindCount && kSmall.columns >= kKindCount);

// As sessions take it: the second piece of a point is not longer, relative to the point.
inline constexpr double kPieceRatio = 0x1p-11;

// Of points, what is multiplied and the same in fp64, where each coordinate is exact.
struct Points {
  Points(std::int64_t count, std::int64_t dim, Precision precision, bool column, Random& random)
      : pitch(pitch_of(dim, precision)),
        // NaN for the point before the first and for the one behind the last: who takes some of theirs is found out.
        values(static_cast<std::size_t>((count + 2) * stride_of(dim, precision) * value_bytes(precision)),
               std::byte{0xff}),
        exact(static_cast<std::size_t>(count * pitch)) {
    const auto point_bytes = static_cast<std::size_t>(stride_of(dim, precision) * value_bytes(precision));
    for (std::int64_t i = 0; i < count; ++i) {
      std::byte* const point = values.data() + static_cast<std::size_t>(i + 1) * point_bytes;
      std::memset(point, 0, point_bytes);
      double square = 0, piece = 0;
      for (std::int64_t t = 0; t < dim; ++t) {
        const Pieces x = store(point, t, precision, kKinds[i % kKindCount].value({t, dim, column}, random));
        const double sum = x.first + x.second;
        exact[static_cast<std::size_t>(i * pitch + t)] = sum;
        square += sum * sum;
        piece += x.second * x.second;
      }
      lengths.push_back(std::sqrt(square));
      expect(std::sqrt(piece) <= kPieceRatio * lengths.back(), "%s: the second piece is too long",
             kKinds[i % kKindCount].name);
    }
  }
  const double* row(std::int64_t i) const { return exact.data() + i * pitch; }

  std::int64_t pitch;
  std::vector<std::byte> values;
  std::vector<double> exact, lengths;

 private:
  struct Pieces {
    double first, second;
  };
  Pieces store(std::byte* point, std::int64_t t, Precision precision, double x) const {
    const auto put = [point](std::int64_t at, auto value) {
      std::memcpy(point + at * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
    };
    if (precision == Precision::fp32) {
      put(t, static_cast<float>(x));
      return {static_cast<double>(static_cast<float>(x)), 0};
    }
    const Half first = half_from_double(x);
    put(t, first);
    if (precision == Precision::fp16) return {to_double(first), 0};
    const Half second = half_from_double(x - to_double(first));
    put(pitch + t, first);
    put(2 * pitch + t, second);
    put(3 * pitch + t, first);
    return {to_double(first), to_double(second)};
  }
};

// Each coordinate is one operation, and one in each sum: off by less than (dim + 4) 2^-53 |a| |b|. Four sums, since one
// would wait for itself; pitches are multiples of 4.
inline double dot(const double* a, const double* b, std::int64_t pitch) {
  double sums[4] = {};
  for (std::int64_t t = 0; t < pitch; t += 4)
    for (int lane = 0; lane < 4; ++lane) sums[lane] += a[t + lane] * b[t + lane];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// What must come of a precision on a chip.
struct Case {
  const char* name;
  Precision precision;
  int compute_major;
  double reached;   // share of the bound that the largest error takes at least
  double too_much;  // what the bound cannot be divided by
};

// fp16: on Hopper as error-bound.md derives it, "large first, 25" of 16 coordinates loses 15 x 2^-25 of a bound of 34 x
// 2^-24 in any order of summation, a share of 0.22. On other chips 2^-24 of 112 x 2^-24, "half way" in two dimensions,
// is all that is sure: a result is a number of fp32.
// Two pieces: 2^-22, the product that is left out of "equal" in one dimension, of (1 + 2^-11)^2 (51 x 2^-24 + 2^-22),
// on other chips with 168 x 2^-24.
// fp32: 2^-24, "half way" in one dimension, of 2^-24 (1 + 2^-12)^2.
inline std::vector<Case> cases_on(int compute_major) {
  const bool hopper = compute_major == 9;
  const double too_much = hopper ? 64 : 256;
  return {{"fp16", Precision::fp16, compute_major, hopper ? 0.2 : 0.0089, too_much},
          {"two pieces", Precision::two_piece, compute_major, hopper ? 0.072 : 0.0231, too_much},
          {"fp32", Precision::fp32, compute_major, 0.999, too_much}};
}

// The pair whose error takes the largest share of the bound.
struct Worst {
  double share = 0, product = 0, real = 0;
  std::int64_t dim = 0;
  Size size{};
  const char *row = "", *column = "";
};
struct Found {
  Worst worst;
  double of_squares = 0;      // as share, of the bound by squares that is made of it
  long long beyond_less = 0;  // pairs whose error exceeds the bound that is too small
};

// Points of both sides and their products in fp64.
struct Pairs {
  Pairs(const Case& c, Size s, std::int64_t d, Random random)
      : size(s),
        dim(d),
        a(s.rows, d, c.precision, false, random),
        b(s.columns, d, c.precision, true, random),
        real(static_cast<std::size_t>(s.rows * s.columns)) {
    for (std::int64_t i = 0; i < s.rows; ++i)
      for (std::int64_t j = 0; j < s.columns; ++j)
        real[static_cast<std::size_t>(i * s.columns + j)] = dot(a.row(i), b.row(j), a.pitch);
  }
  static Pairs of(const Case& c, Size s, std::int64_t d) {
    return {c, s, d, Random(static_cast<std::uint64_t>(1000 * d + s.rows))};
  }

  Size size;
  std::int64_t dim;
  Points a, b;
  std::vector<double> real;
};

// Products of all pairs, ld from one row to the next.
inline void judge(const Case& c, const Pairs& pairs, const std::vector<float>& found, std::int64_t ld, Found& all) {
  const TensorCores chip = tensor_cores_of(c.compute_major);
  const std::int64_t dim = pairs.dim;
  const Size size = pairs.size;
  ProductUnit unit = cuda::Products::unit(c.precision, dim, {unit_of(c.precision), chip.lost, chip.shortest});
  // Terms of pieces a' and a'' add up to (|a'| + |a''|)^2 at most, and a''.a'' is left out (refine/low_bound.h).
  if (c.precision == Precision::two_piece)
    unit.gamma = unit.gamma * (1 + 2 * kPieceRatio) * (1 + 2 * kPieceRatio) + kPieceRatio * kPieceRatio;
  // Below it a length counts as so much: tensor cores align factors as if they were no smaller (rounding_model.h).
  const double shortest = c.precision == Precision::fp32 ? 0 : kSmallestNormalHalf;
  const double underflow = c.precision == Precision::fp32 ? unit.eta : 0x1p-148;
  const double of_reference = (static_cast<double>(dim) + 8) * 0x1p-52;  // of |a| |b|, lengths and differences too
  Worst worst[kKindCount];                                               // by the row's kind
  for (std::int64_t i = 0; i < size.rows; ++i)
    for (std::int64_t j = 0; j < size.columns; ++j) {
      const double length_a = pairs.a.lengths[static_cast<std::size_t>(i)],
                   length_b = pairs.b.lengths[static_cast<std::size_t>(j)];
      const double lengths = std::max(length_a, shortest) * std::max(length_b, shortest);
      const double squares = (length_a * length_a + length_b * length_b) / 2;
      const double real = pairs.real[static_cast<std::size_t>(i * size.columns + j)];
      const double product = static_cast<double>(found[static_cast<std::size_t>(i * ld + j)]);
      double error = std::fabs(product - real) + of_reference * length_a * length_b;  // at most
      if (!std::isfinite(product)) error = std::numeric_limits<double>::infinity();
      if (error > unit.gamma / c.too_much * lengths + underflow) ++all.beyond_less;
      all.of_squares = std::max(all.of_squares, error / (unit.gamma * squares + unit.eta));
      const double share = error / (unit.gamma * lengths + underflow);
      Worst& w = worst[i % kKindCount];
      if (share > w.share)
        w = {share, product, real, dim, size, kKinds[i % kKindCount].name, kKinds[j % kKindCount].name};
    }
  for (const Worst& w : worst) {
    expect(w.share <= 1, "%s, %lld x %lld, d = %lld, (%s) . (%s): %.9g is not %.17g, an error of %.4g bounds", c.name,
           static_cast<long long>(size.rows), static_cast<long long>(size.columns), static_cast<long long>(dim), w.row,
           w.column, w.product, w.real, w.share);
    if (w.share > all.worst.share) all.worst = w;
  }
}

// What must have come of it.
inline void conclude(const Case& c, const Found& found) {
  const Worst& w = found.worst;
  std::printf("%s: errors take up to %.4f of the bound (%.4f with squares), at d = %lld in %lld x %lld, (%s) . (%s)\n",
              c.name, w.share, found.of_squares, static_cast<long long>(w.dim), static_cast<long long>(w.size.rows),
              static_cast<long long>(w.size.columns), w.row, w.column);
  expect(found.of_squares <= 1, "%s: an error of %.4g bounds with squares", c.name, found.of_squares);
  expect(w.share >= c.reached, "%s: errors take %.4f of the bound at most, %.4f must be reached", c.name, w.share,
         c.reached);
  expect(found.beyond_less > 0, "%s: a bound of one part in %.0f holds as well", c.name, c.too_much);
}

}  // namespace attack
