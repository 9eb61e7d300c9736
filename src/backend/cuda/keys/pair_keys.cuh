// Canonical keys of one or several rows with several columns by one warp. Knows nothing of lists.
#pragma once

#include <cstdint>
#include <utility>

#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/rows/row_source.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

// What evaluating a pair takes besides its rows.
struct PairTerms {
  std::int64_t dim;
  double p, scale;  // of the metric
};

// Pairs that a warp evaluates together: of the few candidates that a block of points has, and of a whole list. Rows
// with constants, or of fp64, take more registers.
template <class T>
inline constexpr int kPairsTogether = T::kHeavy ? 1 : 4;
template <class T, class Source>
inline constexpr int kPairsOfList = T::kHeavy                                                    ? 1
                                    : Source::kConstants || sizeof(typename Source::Element) > 4 ? 4
                                                                                                 : 8;

// What a lane needs of one coordinate: as it lies in memory, so that it can be on its way while others are used.
template <class Column, int kRows, int kColumns>
struct Coordinate {
  double x[kRows];
  decltype(std::declval<Column>().loaded(0)) y[kColumns];
};

// Keys of rows u[r] with columns ids[j], all of the warp: lane_of_pair<kRows kColumns>(r kColumns + j) gets that of
// these two. A value serves all pairs that it is in.
template <class T, int kRows, int kColumns, class Row, class Source>
__device__ double keys_of(const Source& columns, const Row (&u)[kRows], const std::uint32_t (&ids)[kColumns],
                          const PairTerms& terms) {
  constexpr int kPairs = kRows * kColumns;
  double s[kPairs][T::kSums] = {};
  decltype(columns.row(0)) others[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) others[j] = columns.row(ids[j]);
  Coordinate<decltype(columns.row(0)), kRows, kColumns> next;
  const auto load = [&](std::int64_t t) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) next.x[r] = u[r][t];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) next.y[j] = others[j].loaded(t);
  };
  const std::int64_t last = terms.dim - 1;
  std::int64_t t = threadIdx.x % kCanonicalLanes;
  load(min(t, last));
  // Rows of candidates lie anywhere: the next coordinates are asked for before these are used. Without a branch, which
  // would let the compiler ask for them afterwards.
  while (t <= last) {
    const auto now = next;
    t += kCanonicalLanes;
    load(min(t, last));
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const double y = others[j].value(now.y[j]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) T::template accumulate<ScalarOps>(s[r * kColumns + j], now.x[r], y, terms.p);
    }
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

// Of one row.
template <class T, int kPairs, class Row, class Source>
__device__ double keys_of(const Source& columns, const Row& u, const std::uint32_t (&ids)[kPairs],
                          const PairTerms& terms) {
  const Row rows[1] = {u};
  return keys_of<T>(columns, rows, ids, terms);
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
