// Canonical keys of a row with several columns by one warp. Knows nothing of lists.
#pragma once

#include <cstdint>

#include "backend/cuda/canonical.cuh"
#include "backend/cuda/rows.cuh"
#include "metric/metric.h"

namespace libknng::cuda {

// What evaluating a pair takes besides its rows.
struct PairTerms {
  std::int64_t dim;
  double p, scale;  // of the metric
};

// Pairs that a warp evaluates together: of the few candidates that a block of points has, and of a whole list. Rows
// with constants take more registers.
template <class T>
inline constexpr int kPairsTogether = kHeavyTerm<T> ? 1 : 4;
template <class T, class Source>
inline constexpr int kPairsOfList = kHeavyTerm<T>        ? 1
                                    : Source::kConstants ? 4
                                                         : 8;
// Coordinates of each that a lane loads before it uses the first: rows of candidates lie anywhere, and only many loads
// in flight make up for it.
template <class T>
inline constexpr int kStepsTogether = kHeavyTerm<T> ? 1 : 2;

// Adds a lane's coordinates t, t + 32, ..., kSteps of them, to its sums.
template <class T, int kSteps, int kPairs, class Row, class Column>
__device__ void add_terms(double (&s)[kPairs][T::kSums], const Row& u, const Column (&rows)[kPairs], std::int64_t t,
                          double p) {
  double x[kSteps];
  decltype(rows[0].loaded(0)) y[kSteps][kPairs];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    x[step] = u[t + step * kCanonicalLanes];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) y[step][j] = rows[j].loaded(t + step * kCanonicalLanes);
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
#pragma unroll
    for (int j = 0; j < kPairs; ++j) T::template accumulate<ScalarOps>(s[j], x[step], rows[j].value(y[step][j]), p);
}

// Keys of row u with columns ids[j], all of the warp: lane_of_pair<kPairs>(j) gets that of pair j. One value of u
// serves all pairs.
template <class T, int kPairs, class Row, class Source>
__device__ double keys_of(const Source& columns, const Row& u, const std::uint32_t (&ids)[kPairs],
                          const PairTerms& terms) {
  double s[kPairs][T::kSums] = {};
  decltype(columns.row(0)) rows[kPairs];
#pragma unroll
  for (int j = 0; j < kPairs; ++j) rows[j] = columns.row(ids[j]);
  constexpr int kSteps = kStepsTogether<T>;
  std::int64_t t = threadIdx.x % kCanonicalLanes;
  for (; t + (kSteps - 1) * kCanonicalLanes < terms.dim; t += kSteps * kCanonicalLanes)
    add_terms<T, kSteps>(s, u, rows, t, terms.p);
  for (; t < terms.dim; t += kCanonicalLanes) add_terms<T, 1>(s, u, rows, t, terms.p);
  double sums[T::kSums];
#pragma unroll
  for (int i = 0; i < T::kSums; ++i) {
    double of_pairs[kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) of_pairs[j] = s[j][i];
    sums[i] = fold_pairs<T, kPairs>(of_pairs);
  }
  return T::template finish<ScalarOps>(sums, terms.scale);
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
