#include "prepare/float_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "prepare/float_rows.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "prepare/filter_panel.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
using Tag = hn::ScalableTag<double>;
using Real = hn::Vec<Tag>;
using HalfTag = hn::Rebind<float, Tag>;
constexpr int kFloats = HWY_LANES(float), kReals = HWY_LANES(double);

// Values [t, t + lanes) of a row, with zeros behind its last.
template <class D>
HWY_INLINE hn::Vec<D> load_to_end(D d, const hn::TFromD<D>* row, std::int64_t t, std::int64_t dim) {
  constexpr int kLanes = kFloats > kReals ? kFloats : kReals;
  if (t + static_cast<std::int64_t>(hn::Lanes(d)) <= dim) return hn::LoadU(d, row + t);
  HWY_ALIGN hn::TFromD<D> rest[kLanes] = {};
  std::copy(row + t, row + dim, rest);
  return hn::Load(d, rest);
}

// Neighbours change places until all are in order: vectors hold values of one row each, so that as many coordinates
// are sorted as there are lanes.
void median(const float* const* rows, std::int64_t count, std::int64_t dim, double* median) {
  const FloatTag d;
  for (std::int64_t t = 0; t < dim; t += kFloats) {
    Floats sorted[kMostInMedian];
    for (std::int64_t s = 0; s < count; ++s) sorted[s] = load_to_end(d, rows[s], t, dim);
    for (std::int64_t round = 0; round < count; ++round)
      for (std::int64_t s = round % 2; s + 1 < count; s += 2) {
        const Floats less = hn::Min(sorted[s], sorted[s + 1]);
        sorted[s + 1] = hn::Max(sorted[s], sorted[s + 1]);
        sorted[s] = less;
      }
    HWY_ALIGN float middle[kFloats];
    hn::Store(sorted[count / 2], d, middle);
    for (std::int64_t l = 0; l < std::min<std::int64_t>(kFloats, dim - t); ++l)
      median[t + l] = static_cast<double>(middle[l]);
  }
}

double farthest(const float* u, const double* centre, std::int64_t dim) {
  const Tag d;
  Real most[2] = {hn::Zero(d), hn::Zero(d)};
  const auto distance = [&](std::int64_t t) {
    const Real x = hn::PromoteTo(d, load_to_end(HalfTag(), u, t, dim));
    return hn::Abs(hn::Sub(x, load_to_end(d, centre, t, dim)));
  };
  std::int64_t t = 0;
  for (; t + 2 * kReals <= dim; t += 2 * kReals)
    for (int half = 0; half < 2; ++half) most[half] = hn::Max(most[half], distance(t + half * kReals));
  for (; t < dim; t += kReals) most[0] = hn::Max(most[0], distance(t));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(most[0], most[1])));
}

// Coordinates that are rounded before they go to their places in the panel.
constexpr int kTogether = 64;
static_assert(kTogether % kReals == 0 && kFilterPanel % kRoundedTogether == 0);

// With a constructor of this region's target: a compiler's own would have none.
struct Sums {
  HWY_INLINE Sums() : square(hn::Zero(Tag())), residual(hn::Zero(Tag())), row(hn::Zero(Tag())) {}
  Real square, residual, row;
};

// Values [first, first + kTogether) of a row, as far as there are, to out; zeros behind the last.
HWY_INLINE void round_values(const Rounding& to, const float* u, std::int64_t first, std::int64_t dim, Sums& sums,
                             float* out) {
  const Tag d;
  const Real scale_a = hn::Set(d, to.scale_a), scale_b = hn::Set(d, to.scale_b);
  for (int at = 0; at < kTogether; at += kReals) {
    const std::int64_t t = first + at;
    if (t >= dim) {
      hn::StoreU(hn::Zero(HalfTag()), HalfTag(), out + at);
      continue;
    }
    Real x = hn::PromoteTo(d, load_to_end(HalfTag(), u, t, dim));
    if (to.centre) x = hn::Sub(x, load_to_end(d, to.centre, t, dim));
    x = hn::Mul(hn::Mul(x, scale_a), scale_b);
    const auto rounded = hn::DemoteTo(HalfTag(), x);
    const Real a = hn::PromoteTo(d, rounded);
    const Real lost = hn::Sub(x, a);
    sums.square = hn::MulAdd(a, a, sums.square);
    sums.residual = hn::MulAdd(lost, lost, sums.residual);
    sums.row = hn::MulAdd(x, x, sums.row);
    hn::StoreU(rounded, HalfTag(), out + at);
  }
}

// Rounded values by row to places by coordinate.
HWY_INLINE void store_values(const float (&values)[kRoundedTogether][kTogether], std::int64_t count, float* panel) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t t = 0; t < count; ++t)
    for (std::int64_t i = 0; i < kRoundedTogether; ++i) panel[t * kFilterPanel + i] = values[i][t];
#else
  const hn::Simd<float, 4, 0> d;
  const hn::Repartition<double, decltype(d)> pairs;
  using Four = hn::Vec<decltype(d)>;
  for (std::int64_t t = 0; t < count; t += 4)
    for (std::int64_t i = 0; i < kRoundedTogether; i += 4) {
      const Four a = hn::Load(d, values[i] + t), b = hn::Load(d, values[i + 1] + t);
      const Four c = hn::Load(d, values[i + 2] + t), e = hn::Load(d, values[i + 3] + t);
      const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
                 ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)),
                 ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
                 ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
      const Four by_coordinate[4] = {hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                                     hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)),
                                     hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)),
                                     hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high))};
      for (std::int64_t j = 0; j < std::min<std::int64_t>(4, count - t); ++j)
        hn::StoreU(by_coordinate[j], d, panel + (t + j) * kFilterPanel + i);
    }
#endif
}

void round_rows(const Rounding& to, const float* const* rows, std::int64_t dim, float* panel, RoundingSums* sums) {
  const Tag d;
  HWY_ALIGN float values[kRoundedTogether][kTogether];
  Sums of_rows[kRoundedTogether];
  for (std::int64_t i = 0; i < kRoundedTogether; ++i)
    if (!rows[i]) std::fill_n(values[i], kTogether, 0.0f);
  for (std::int64_t t = 0; t < dim; t += kTogether) {
    for (std::int64_t i = 0; i < kRoundedTogether; ++i)
      if (rows[i]) round_values(to, rows[i], t, dim, of_rows[i], values[i]);
    store_values(values, std::min<std::int64_t>(kTogether, dim - t), panel + t * kFilterPanel);
  }
  for (std::int64_t i = 0; i < kRoundedTogether; ++i)
    sums[i] = {hn::GetLane(hn::SumOfLanes(d, of_rows[i].square)), hn::GetLane(hn::SumOfLanes(d, of_rows[i].residual)),
               hn::GetLane(hn::SumOfLanes(d, of_rows[i].row))};
}

const FloatRows* float_rows_here() {
  static const FloatRows rows = {hwy::TargetName(HWY_TARGET), median, farthest, round_rows};
  return &rows;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const FloatRows* const> float_rows() {
  static constexpr SimdVariant<const FloatRows*()> kVariants[] = {KNNG_SIMD_VARIANTS(float_rows_here)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif
