// What a filter keeps of rows, for refinement: lists with lows and bounds that are right, and what refinement does with
// them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cuda/select/candidate.cuh"
#include "core/admission.h"
#include "tests/gpu/points.h"

namespace libknng::cuda::test {

// The filter of these tests: of every row the `capacity` smallest lows, in a random order.
struct Filter {
  std::vector<Candidate> candidates;
  std::vector<std::int32_t> kept;
  std::vector<float> dropped, row_bounds, column_bounds;
  double scale = 1;
  bool direct = true;
};

inline double bound_of(const Filter& f, std::int64_t i, std::int64_t j) {
  return static_cast<double>(f.row_bounds[static_cast<std::size_t>(i)]) +
         static_cast<double>(f.column_bounds[static_cast<std::size_t>(j)]);
}

inline Filter make_filter(const Question& q, std::int64_t first, std::int64_t count, std::int64_t capacity, bool direct,
                          Random& random) {
  Filter f;
  f.direct = direct;
  const auto key_of = [&](std::int64_t i, std::int64_t j) {
    return canonical_key(q.rows.metric, q.rows.row(first + i), q.columns.row(j));
  };
  if (direct) {
    f.scale = q.rows.metric.term == Term::product ? 2 : 1;  // as exact products have it
  } else {
    // Scaled keys are below 2, so that rounding a low to fp32 stays within the slack below.
    double largest = 1;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < q.columns.rows; ++j) largest = std::max(largest, std::fabs(key_of(i, j)));
    f.scale = std::ldexp(1.0, -std::ilogb(largest));
  }
  const auto bound = [&] { return static_cast<float>(random.uniform(0x1p-20, 0x1p-12)); };
  for (std::int64_t i = 0; i < count; ++i) f.row_bounds.push_back(bound());
  for (std::int64_t j = 0; j < q.columns.rows; ++j) f.column_bounds.push_back(bound());
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<Candidate> all;
    for (std::int64_t j = 0; j < q.columns.rows; ++j) {
      if (q.square && first + i == j) continue;
      const double scaled = (direct ? expected_key(q.rows, first + i, q.columns, j) : key_of(i, j)) * f.scale;
      const double slack = direct ? 0 : bound_of(f, i, j) * random.uniform(0.01, 1.9);
      all.push_back({round_down(scaled - slack), static_cast<std::uint32_t>(j)});
    }
    std::sort(all.begin(), all.end(), [](Candidate a, Candidate b) { return a.low < b.low; });
    const auto keeps = std::min<std::size_t>(all.size(), static_cast<std::size_t>(capacity));
    f.dropped.push_back(keeps < all.size() ? all[keeps].low : INFINITY);
    f.kept.push_back(static_cast<std::int32_t>(keeps));
    all.resize(keeps);
    for (std::size_t c = keeps; c > 1; --c) std::swap(all[c - 1], all[random.next() % c]);
    all.resize(static_cast<std::size_t>(capacity), {-1.0f, 12345678});
    f.candidates.insert(f.candidates.end(), all.begin(), all.end());
  }
  return f;
}

// Keys that refinement evaluates of list i: groups of 32, whose lows up to the first that is above the largest of the
// first k keys belong to it; all of a group that has such lows elsewhere. Exact lows are keys in 15 of 16 rows.
inline std::int64_t evaluated_of(const Question& q, const Filter& f, std::int64_t first, std::int64_t i,
                                 std::int64_t capacity, const Admission& admission, bool integers) {
  const Candidate* const list = f.candidates.data() + i * capacity;
  const std::int64_t n = f.kept[static_cast<std::size_t>(i)];
  const RowAdmission of_row = admission.of(first + i);
  double limit = INFINITY, highest = -INFINITY;
  std::int64_t evaluated = 0, missing = q.k;
  for (std::int64_t base = 0; base < n; base += 32) {
    const std::int64_t count = std::min<std::int64_t>(n - base, 32);
    std::int64_t wanted = 0, near = 0;
    for (std::int64_t c = 0; c < count; ++c) {
      const bool is_near = !(static_cast<double>(list[base + c].low) > limit);
      near += is_near ? 1 : 0;
      if (is_near && wanted == c) ++wanted;
    }
    if (near > wanted) wanted = count;
    if (!integers || (first + i) % 16 == 0) evaluated += wanted;
    for (std::int64_t c = 0; c < wanted && missing > 0; ++c) {
      const std::int64_t id = list[base + c].id;
      if (!of_row.admits(id)) continue;
      const double key = canonical_key(q.rows.metric, q.rows.row(first + i), q.columns.row(id));
      highest = std::max(highest, key * f.scale);
      --missing;
    }
    if (missing == 0) limit = highest;
  }
  return evaluated;
}

}  // namespace libknng::cuda::test
