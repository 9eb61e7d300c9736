// Canonical keys of one or several rows with several columns by one warp. Knows nothing of lists.
#pragma once

#include <cstdint>

#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/rows/row_source.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

// What evaluating a pair takes besides its rows.
struct PairTerms {
  std::int64_t dim;
  double p, scale;  // of the metric
};

// Roots of values that single precision holds, which take fp64 longer than what is made of them.
template <class Source>
inline constexpr bool kTakesRoots = Source::kTransform == Transform::square_root &&
                                    sizeof(typename Source::Element) <= 4;

// Pairs that a warp evaluates together: of the few candidates that a block of points has, and of a whole list. Rows
// with constants, or of fp64, take more registers; where roots are taken more warps do better than more pairs.
template <class T>
inline constexpr int kPairsTogether = T::kHeavy ? 1 : 4;
template <class T, class Source>
inline constexpr int kPairsOfList = T::kHeavy ? 1
                                    : Source::kConstants || kTakesRoots<Source> || sizeof(typename Source::Element) > 4
                                        ? 4
                                        : 8;

// Steps of 32 coordinates that are on their way together.
template <class Source, int kColumns>
inline constexpr int kStepsTogether = !kTakesRoots<Source> && kColumns * sizeof(typename Source::Element) <= 32 ? 4 : 2;

// Adds the terms of coordinates from the lane's own `t` on, some steps of them, to s; kWhole: none is beyond the last.
template <class T, int kSteps, bool kWhole, int kRows, int kColumns, class Row, class Column>
__device__ __forceinline__ void add_terms(double (&s)[kRows * kColumns][T::kSums], const Row (&u)[kRows],
                                          const Column (&others)[kColumns], std::int64_t t, const PairTerms& terms) {
  double x[kSteps][kRows];
  decltype(others[0].loaded(0)) y[kSteps][kColumns];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t at = t + step * kCanonicalLanes;
    if (!kWhole && at >= terms.dim) continue;
#pragma unroll
    for (int r = 0; r < kRows; ++r) x[step][r] = u[r][at];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) y[step][j] = others[j].loaded(at);
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    if (!kWhole && t + step * kCanonicalLanes >= terms.dim) continue;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const double value = others[j].value(y[step][j]);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        T::template accumulate<ScalarOps>(s[r * kColumns + j], x[step][r], value, terms.p);
    }
  }
}

// Keys of rows u[r] with columns ids[j], all of the warp: lane_of_pair<kRows kColumns>(r kColumns + j) gets that of
// these two. A value serves all pairs that it is in. Rows of candidates lie anywhere: as much of them as registers hold
// is on its way while other warps work.
template <class T, int kStepsGiven = 0, int kRows, int kColumns, class Row, class Source>
__device__ double keys_of(const Source& columns, const Row (&u)[kRows], const std::uint32_t (&ids)[kColumns],
                          const PairTerms& terms) {
  constexpr int kPairs = kRows * kColumns;
  constexpr int kSteps = kStepsGiven > 0 ? kStepsGiven : kStepsTogether<Source, kColumns>;
  double s[kPairs][T::kSums] = {};
  const std::int64_t lane = threadIdx.x % kCanonicalLanes;
  const auto add_all = [&](const auto& others) {
    std::int64_t first = 0;
    for (; first + kSteps * kCanonicalLanes <= terms.dim; first += kSteps * kCanonicalLanes)
      add_terms<T, kSteps, true>(s, u, others, first + lane, terms);
    if (first < terms.dim) add_terms<T, kSteps, false>(s, u, others, first + lane, terms);
  };
  if (columns.col_stride == 1) {  // as sessions have them
    decltype(columns.packed_row(0)) others[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) others[j] = columns.packed_row(ids[j]);
    add_all(others);
  } else {
    decltype(columns.row(0)) others[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) others[j] = columns.row(ids[j]);
    add_all(others);
  }
  double sums[T::kSums];
#pragma unroll
  for (int i = 0; i < T::kSums; ++i) {
    double of_pairs[kPairs];
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) of_pairs[pair] = s[pair][i];
    sums[i] = fold_pairs<T, kPairs>(of_pairs);
  }
  return T::template finish<ScalarOps>(sums, terms.scale);
}

// Keys of 32 columns, one a lane, with a row of up to kFewDims coordinates: a part of the lanes is enough for a pair's
// terms, so that the warp works on some at a time. The lanes of canonical sums that have no term are 0. Adding those
// changes nothing but -0, which products that underflow may leave, and which is the key that 0 is (Product::finish()).
inline constexpr int kFewDims = 16;
template <class T, class Row, class Source>
__device__ double keys_of_few_dims(const Source& columns, const Row& u, std::uint32_t id, const PairTerms& terms) {
  const int lane = static_cast<int>(threadIdx.x % kCanonicalLanes), t = lane % kFewDims, group = lane - t;
  const bool has_term = t < terms.dim;
  const std::int64_t coordinate = has_term ? t : 0;
  const double x = u[coordinate];
  decltype(columns.row(0).loaded(0)) y[kFewDims];
#pragma unroll
  for (int j = 0; j < kFewDims; ++j) y[j] = columns.row(__shfl_sync(kAllLanes, id, group + j)).loaded(coordinate);
  double s[kFewDims][T::kSums] = {};
#pragma unroll
  for (int j = 0; j < kFewDims; ++j) {
    // Its constants once more, rather than those of all in registers.
    std::uint32_t other = 0;
    if constexpr (Source::kConstants) other = __shfl_sync(kAllLanes, id, group + j);
    const double value = columns.row(other).value(y[j]);
    if (has_term) T::template accumulate<ScalarOps>(s[j], x, value, terms.p);
  }
  double sums[T::kSums];
#pragma unroll
  for (int i = 0; i < T::kSums; ++i) {
    double of_pairs[kFewDims];
#pragma unroll
    for (int j = 0; j < kFewDims; ++j) of_pairs[j] = s[j][i];
    sums[i] = fold_pairs<T, kFewDims, kFewDims / 2>(of_pairs);
  }
  return T::template finish<ScalarOps>(sums, terms.scale);
}

// Of one row.
template <class T, int kStepsGiven = 0, int kPairs, class Row, class Source>
__device__ double keys_of(const Source& columns, const Row& u, const std::uint32_t (&ids)[kPairs],
                          const PairTerms& terms) {
  const Row rows[1] = {u};
  return keys_of<T, kStepsGiven>(columns, rows, ids, terms);
}

// Calls f with the RowSource of the view and the metric's term, where they occur together.
template <class F>
void visit_columns(const CanonicalView& columns, const Metric& metric, F&& f) {
  visit_source(columns, [&](const auto& source) {
    using Source = std::remove_cvref_t<decltype(source)>;
    visit_term(metric.term, [&](auto term) {
      if constexpr (kOccurs<decltype(term), Source::kTransform>) f(source, term);
    });
  });
}

}  // namespace libknng::cuda
