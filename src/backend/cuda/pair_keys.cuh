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

// Pairs that a warp evaluates together.
template <class T>
inline constexpr int kPairsTogether = kHeavyTerm<T> ? 1 : 4;

// Keys of row u with columns ids[j], all of the warp: lane_of_pair<kPairs>(j) gets that of pair j. One value of u
// serves all pairs, and their loads are in flight together.
template <class T, int kPairs, class Row, class Source>
__device__ double keys_of(const Source& columns, const Row& u, const std::uint32_t (&ids)[kPairs],
                          const PairTerms& terms) {
  double s[kPairs][T::kSums] = {};
  decltype(columns.row(0)) rows[kPairs];
#pragma unroll
  for (int j = 0; j < kPairs; ++j) rows[j] = columns.row(ids[j]);
  for (std::int64_t t = threadIdx.x % kCanonicalLanes; t < terms.dim; t += kCanonicalLanes) {
    const double x = u[t];
    double y[kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) y[j] = rows[j][t];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) T::template accumulate<ScalarOps>(s[j], x, y[j], terms.p);
  }
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
