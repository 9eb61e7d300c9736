// Rows for tests of the rooms that compute: doubles stored in an element type as a Dataset, and what a call of the
// library brings along. Knows nothing of metrics.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/float_env.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "dataset/dataset.h"
#include "values.h"

extern "C" {
#include "harness/rows.h"
}

namespace points {

// n x d doubles, and what they are called in messages.
struct Rows {
  const char* name;
  std::int64_t n, d;
  std::vector<double> values;

  double& operator()(std::int64_t i, std::int64_t t) { return values[static_cast<std::size_t>(i * d + t)]; }
};

inline Rows make_rows(const char* name, std::int64_t n, std::int64_t d,
                      const std::function<double(std::int64_t, std::int64_t)>& value) {
  Rows rows{name, n, d, std::vector<double>(static_cast<std::size_t>(n * d))};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t t = 0; t < d; ++t) rows(i, t) = value(i, t);
  return rows;
}

inline double normal(values::Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum / 2;
}

// The values rounded to the type, in memory of its own.
inline libknng::Dataset stored(std::int32_t dtype, const Rows& rows) {
  test_rows raw = rows_from(dtype, rows.n, rows.d, rows.values.data());
  libknng::Budget budget;
  libknng::Dataset data(rows.d, dtype);
  data.append(
      libknng::copy_rows({dtype, rows.n, rows.d, rows.d, 1, static_cast<const std::byte*>(raw.data)}, budget, "rows"));
  rows_free(&raw);
  return data;
}

// A call without callbacks, of one thread.
struct Call {
  libknng::FloatEnv env;
  libknng::ThreadTeam team{1};
  libknng::Monitor monitor{knng_control{sizeof(knng_control), 0, nullptr, nullptr, nullptr, nullptr, 0}, env};
};

// Rows r and -r by turns: their mean is exactly 0, so that the filter's operands are the rows themselves, scaled.
inline Rows mirrored(Rows half) {
  Rows rows = make_rows(half.name, 2 * half.n, half.d,
                        [&](std::int64_t i, std::int64_t t) { return i % 2 == 0 ? half(i / 2, t) : -half(i / 2, t); });
  return rows;
}

// One coordinate near 1 and many whose products fall just short of half a unit of fp32 in the last place of 1: every
// addition of the product of two such rows rounds down.
inline Rows swallowed(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  values::Random random(seed);
  return mirrored(make_rows("swallowed", n, d, [&](std::int64_t, std::int64_t t) {
    if (t > 0) return 0x1p-12 * (1 - 0x1p-24 * static_cast<double>(random.below(8)));
    return 1 + 0x1p-23 * static_cast<double>(random.below(4096));
  }));
}

// Products that fall just short of half of the smallest fp32 subnormal, beside one coordinate that sets the scale.
inline Rows vanishing(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  values::Random random(seed);
  return mirrored(make_rows("vanishing", n, d, [&](std::int64_t i, std::int64_t t) {
    if (t == 0) return i == 0 ? 1.0 : 0.0;
    return 0x1p-75 * (1 - 0x1p-22 * static_cast<double>(random.below(2)));
  }));
}

// One coordinate whose rounding to fp32 moves it by almost half a unit, up or down.
inline Rows rounded_away(std::int64_t n, std::int64_t d, bool up) {
  return mirrored(make_rows(up ? "rounded up" : "rounded down", n, d, [&](std::int64_t i, std::int64_t t) {
    if (t > 0) return 0.0;
    return 1 + static_cast<double>(i) * 0x1p-12 + 0x1p-24 + (up ? 0x1p-50 : -0x1p-50) * static_cast<double>(i % 5 + 1);
  }));
}

// Scales, repetitions and constructions at which a bound could go wrong; 25 to 60 rows each, values up to DBL_MAX.
inline std::vector<Rows> nasty_rows() {
  values::Random random(7);
  const auto gaussian = [&](double scale, double offset) {
    return [&random, scale, offset](std::int64_t, std::int64_t) { return offset + scale * normal(random); };
  };
  std::vector<Rows> all;
  for (const std::int64_t d : {1, 2, 7, 33, 300}) all.push_back(make_rows("gaussian", 60, d, gaussian(1, 0)));
  all.push_back(make_rows("offset", 50, 20, gaussian(1, 1e6)));
  for (const double scale : {1e-310, 1e-200, 0x1p-537, 1e-160, 1e-155, 1e-100, 1e-30, 1e30, 1e150})
    all.push_back(make_rows("scaled", 50, 9, gaussian(scale, 0)));
  all.push_back(make_rows("small among large", 50, 9, [&](std::int64_t i, std::int64_t) {
    return std::ldexp(normal(random), i < 2 ? 500 : -100);
  }));
  all.push_back(make_rows("grid", 50, 4, [&](std::int64_t, std::int64_t) { return double(random.below(3)); }));
  all.push_back(make_rows("equal", 50, 5, [](std::int64_t, std::int64_t t) { return 0.1 * double(t + 1); }));
  all.push_back(make_rows("nearly equal", 50, 5, [&](std::int64_t, std::int64_t t) {
    return 0.1 * double(t + 1) * (1 + 0x1p-52 * double(random.below(4)));
  }));
  all.push_back(
      make_rows("outlier", 50, 6, [&](std::int64_t i, std::int64_t) { return i == 30 ? 1e12 : normal(random); }));
  all.push_back(
      make_rows("zero rows", 50, 6, [&](std::int64_t i, std::int64_t) { return i % 10 == 3 ? 0.0 : normal(random); }));
  for (const std::int64_t d : {1, 5, 40})
    all.push_back(
        make_rows("nasty", 60, d, [&](std::int64_t, std::int64_t) { return values::nasty(random, DBL_MAX); }));
  for (const std::int64_t d : {1, 2, 5, 16, 40, 1000}) {
    all.push_back(swallowed(25, d, static_cast<std::uint64_t>(d)));
    all.push_back(vanishing(25, d, static_cast<std::uint64_t>(d)));
  }
  for (const std::int64_t d : {1, 2}) {
    all.push_back(rounded_away(25, d, true));
    all.push_back(rounded_away(25, d, false));
  }
  return all;
}

}  // namespace points
