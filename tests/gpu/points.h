// Nasty rows of every type, what metric/canonical.cpp makes of them, and the same on the device.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/rows/prepare.cuh"
#include "core/dtype.h"
#include "tests/gpu/gpu.cuh"
#include "tests/unit/values.h"

namespace libknng::cuda::test {

using gpu::Array;
using gpu::expect;

inline std::vector<std::int32_t> all_dtypes() {
  if (small_run()) return {KNNG_F32, KNNG_U8, KNNG_I64};
  return {KNNG_F32, KNNG_F64, KNNG_F16, KNNG_BF16, KNNG_U8,  KNNG_I8,  KNNG_U16,
          KNNG_I16, KNNG_U32, KNNG_I32, KNNG_U64,  KNNG_I64, KNNG_BOOL};
}
// Dimensions around the 32 lanes of the canonical sum.
inline std::vector<std::int64_t> all_dims() {
  if (small_run()) return {3, 33};
  return {1, 2, 3, 16, 17, 31, 32, 33, 48, 100, 784};
}
inline constexpr double kPowers[] = {1.5, 3.0, 0.5};

using values::bits;
using values::Random;

// Metrics as tests go through them: all, minkowski with several exponents.
inline std::vector<Metric> all_metrics() {
  std::vector<Metric> all;
  for (const Metric& m : metrics()) {
    if (m.term == Term::power_difference)
      for (const double p : kPowers) all.push_back(find_metric(m.name, p));
    else
      all.push_back(m);
  }
  return all;
}

struct Points {
  Metric metric;
  std::int32_t dtype;
  std::int64_t rows, dim, row_stride, col_stride;
  std::vector<std::byte> stored;
  // By metric/canonical.cpp.
  std::vector<double> values;  // as stored
  std::vector<double> u;
  std::vector<std::int32_t> ranks;
  std::vector<RowConstants> constants;
  std::string name;

  std::span<const double> row(std::int64_t i) const { return {u.data() + i * dim, static_cast<std::size_t>(dim)}; }
  bool directionless(std::int64_t i) const {
    return has_directions(metric.transform) && constants[static_cast<std::size_t>(i)].factor == 0;
  }
};

template <class T>
T from_double(double x) {
  if constexpr (std::is_same_v<T, Half>)
    return half_from_double(std::clamp(x, -65504.0, 65504.0));
  else if constexpr (std::is_same_v<T, BFloat>)
    return bfloat_from_double(std::clamp(x, -0x1.fep127, 0x1.fep127));
  else if constexpr (std::is_same_v<T, Bool>)
    return {static_cast<std::uint8_t>(x > 0)};
  else if constexpr (std::is_integral_v<T>) {
    // 32 and 64 bits beyond what single precision holds.
    constexpr double kScale = sizeof(T) == 1 ? 40 : sizeof(T) == 2 ? 1e4 : sizeof(T) == 4 ? 1e9 : 1e15;
    constexpr double kLargest = kLargestInteger;
    return static_cast<T>(std::clamp(std::nearbyint(x * kScale),
                                     std::max(static_cast<double>(std::numeric_limits<T>::min()), -kLargest),
                                     std::min(static_cast<double>(std::numeric_limits<T>::max()), kLargest)));
  } else
    return static_cast<T>(std::clamp<double>(x, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()));
}

// A value of row i: a few rows are special, whatever the type can hold of it.
inline double nasty_value(std::int64_t i, std::int64_t t, double limit, Random& random) {
  const double x = random.uniform(-2, 2);
  switch (i % 16) {
    case 0: return 0.0;  // no direction
    case 1: return 0.1;  // constant: none under correlation
    case 2: return t % 2 ? -0.0 : 0.0;
    case 3: return x * 0x1p-1070;                                       // denormal
    case 4: return std::min(limit, 1e200) * random.uniform(0.25, 1.0);  // large
    case 5: return static_cast<double>(random.next() % 3);              // ties
    case 6: return t == 0 ? std::min(limit, 1e30) : x * 1e-30;          // one far value
    case 7: return random.next() % 4 == 0 ? x : 0.0;                    // sparse
    case 8: return 1e6 + x;                                             // offset
    case 9: return static_cast<double>(t);                              // sorted
    default: return x;
  }
}

// canonical.cpp's view of rows as they are stored.
inline void finish(Points& p) {
  const auto d = static_cast<std::size_t>(p.dim);
  p.u = p.values;
  p.constants.assign(static_cast<std::size_t>(p.rows), {});
  p.ranks.assign(p.values.size(), 0);
  std::vector<std::int32_t> order(d);
  for (std::int64_t i = 0; i < p.rows; ++i) {
    const std::span<double> x(p.u.data() + i * p.dim, d);
    if (p.metric.transform == Transform::rank_unit) {
      const std::span<std::int32_t> ranks(p.ranks.data() + i * p.dim, d);
      centred_ranks(x, order, ranks);
      std::copy(ranks.begin(), ranks.end(), x.begin());
    }
    p.constants[static_cast<std::size_t>(i)] = row_constants(p.metric.transform, x);
    apply_transform(p.metric.transform, p.constants[static_cast<std::size_t>(i)], x);
  }
}

// Rows with a gap behind each, columns with gaps if `spread` > 1; no value beyond `largest`.
inline Points make_points(const Metric& metric, std::int32_t dtype, std::int64_t rows, std::int64_t dim,
                          std::uint64_t seed, std::int64_t spread = 1, double largest = DBL_MAX) {
  Points p{metric, dtype, rows, dim, dim * spread + 3, spread, {}, {}, {}, {}, {}, {}};
  p.name = std::string(metric.name) + " p=" + std::to_string(metric.p) + " " + dtype_name(dtype) + " " +
           std::to_string(rows) + " x " + std::to_string(dim);
  // Half of it, so that no rounding to the type oversteps it.
  const double limit = std::min(largest, largest_magnitude(metric, dim) / 2);
  Random random(seed);
  p.values.resize(static_cast<std::size_t>(rows * dim));
  visit_row_dtype(dtype, [&](auto* tag) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(tag)>>;
    p.stored.resize(static_cast<std::size_t>(rows * p.row_stride) * sizeof(T));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t t = 0; t < dim; ++t) {
        double x = std::clamp(nasty_value(i, t, limit, random), -limit, limit);
        if (refuses_negative(metric.transform)) x = std::fabs(x);
        T value = from_double<T>(x);
        if (metric.transform == Transform::share && t == 0 && !(to_double(value) > 0)) value = from_double<T>(1.0);
        std::memcpy(p.stored.data() + static_cast<std::size_t>(i * p.row_stride + t * spread) * sizeof(T), &value,
                    sizeof value);
        p.values[static_cast<std::size_t>(i * dim + t)] = to_double(value);
      }
  });
  finish(p);
  return p;
}

// Gives the points other values, value(i, t), which their type holds.
template <class Value>
void set_values(Points& p, Value&& value) {
  visit_row_dtype(p.dtype, [&]<class T>(const T*) {
    for (std::int64_t i = 0; i < p.rows; ++i)
      for (std::int64_t t = 0; t < p.dim; ++t) {
        const T x = from_double<T>(value(i, t));
        p.values[static_cast<std::size_t>(i * p.dim + t)] = to_double(x);
        std::memcpy(p.stored.data() + static_cast<std::size_t>(i * p.row_stride + t * p.col_stride) * sizeof(T), &x,
                    sizeof x);
      }
  });
  finish(p);
}

// The same on the device, prepared there.
class DevicePoints {
 public:
  explicit DevicePoints(const Points& p)
      : stored_(p.stored),
        constants_(p.rows),
        short_ranks_(ranked(p) && p.dim <= 32767 ? p.rows * p.dim : 0),
        long_ranks_(ranked(p) && p.dim > 32767 ? p.rows * p.dim : 0),
        findings_(std::vector<PrepareFindings>(1)) {
    view_.rows = {stored_.get(), p.dtype, p.rows, p.dim, p.row_stride, p.col_stride};
    view_.transform = p.metric.transform;
    view_.constants = constants_.get();
    view_.short_ranks = short_ranks_.get();
    view_.long_ranks = long_ranks_.get();
    PrepareJob job;
    job.rows = view_.rows;
    job.transform = p.metric.transform;
    job.limit = largest_magnitude(p.metric, p.dim);
    job.count = p.rows;
    job.constants = constants_.get();
    job.short_ranks = short_ranks_.get();
    job.long_ranks = long_ranks_.get();
    job.findings = findings_.get();
    const Array<std::byte> workspace(prepare_workspace_bytes(view_.rows, view_.transform));
    job.workspace = workspace.get();
    prepare_rows(job, nullptr);
    check(cudaDeviceSynchronize());
  }

  const CanonicalView& view() const { return view_; }
  PrepareFindings findings() const { return findings_.values()[0]; }
  std::vector<RowConstants> constants() const { return constants_.values(); }
  std::vector<std::int32_t> ranks() const {
    if (long_ranks_.size() > 0) return long_ranks_.values();
    const std::vector<std::int16_t> ranks = short_ranks_.values();
    return {ranks.begin(), ranks.end()};
  }

 private:
  static bool ranked(const Points& p) { return p.metric.transform == Transform::rank_unit; }

  Array<std::byte> stored_;
  Array<RowConstants> constants_;
  Array<std::int16_t> short_ranks_;
  Array<std::int32_t> long_ranks_;
  Array<PrepareFindings> findings_;
  CanonicalView view_;
};

// The key of a pair by definition.
inline double expected_key(const Points& rows, std::int64_t i, const Points& columns, std::int64_t j) {
  if (rows.directionless(i) || columns.directionless(j)) return kNoDirectionKey;
  return canonical_key(rows.metric, rows.row(i), columns.row(j));
}

// What is asked for.
struct Question {
  const Points& rows;
  const Points& columns;
  std::int64_t k;  // 0: several, which the test goes through
  bool square;
  std::vector<std::int64_t> leave_out;  // empty: none
  bool self_first = false, similarity = false;
  std::int32_t value_dtype = KNNG_F64;

  std::int64_t width() const { return k + self_first; }
};

struct Pair {
  double key;
  std::int64_t id;
  friend bool operator<(const Pair& a, const Pair& b) { return a.key < b.key || (a.key == b.key && a.id < b.id); }
};

// All columns that row i may get, ascending.
inline std::vector<Pair> ascending(const Question& q, std::int64_t i) {
  std::vector<Pair> all;
  for (std::int64_t j = 0; j < q.columns.rows; ++j) {
    if (q.square && i == j) continue;
    if (!q.leave_out.empty() && q.leave_out[static_cast<std::size_t>(i)] == j) continue;
    all.push_back({expected_key(q.rows, i, q.columns, j), j});
  }
  std::sort(all.begin(), all.end());
  return all;
}

// A key as it is reported, in the value type.
inline double rounded(const Question& q, double key) {
  const double value = reported_value(q.rows.metric, key, q.similarity);
  return q.value_dtype == KNNG_F64 ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace libknng::cuda::test
