#include "metric/canonical.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metric/ops.h"
#include "metric/terms.h"

namespace libknng {
namespace {

// 32 sums fold by halves: s[l] += s[l + h] for l < h, h = 16, 8, 4, 2, 1.
template <class Join>
double fold(double* s, Join join) noexcept {
  for (int h = kCanonicalLanes / 2; h > 0; h /= 2)
    for (int l = 0; l < h; ++l) s[l] = join(s[l], s[l + h]);
  return s[0];
}

double canonical_sum(std::span<const double> x) noexcept {
  double s[kCanonicalLanes] = {};
  for (std::size_t t = 0; t < x.size(); ++t) s[t % kCanonicalLanes] += x[t];
  return fold(s, [](double a, double b) { return a + b; });
}

// The plain loop, compiled anew for processors with wider vectors: the lanes of a block are independent, so that the
// compiler may take them together. Flattened, so that a power's fused operations are instructions too, not calls.
// Not with g++ before 12, which does not know these processors, and not with musl, whose loader makes no such choice; a
// sanitizer's start-up does not survive it.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KNNG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define KNNG_CLONES
#endif

template <class T>
KNNG_CLONES double key(const double* u, const double* v, std::size_t dim, double p, double scale) noexcept {
  double s[kCanonicalLanes][T::kSums] = {};
  std::size_t t = 0;
  for (; t + kCanonicalLanes <= dim; t += kCanonicalLanes)
    for (std::size_t l = 0; l < kCanonicalLanes; ++l) T::template accumulate<ScalarOps>(s[l], u[t + l], v[t + l], p);
  for (std::size_t l = 0; t + l < dim; ++l) T::template accumulate<ScalarOps>(s[l], u[t + l], v[t + l], p);
  for (int h = kCanonicalLanes / 2; h > 0; h /= 2)
    for (int l = 0; l < h; ++l)
      for (int i = 0; i < T::kSums; ++i) s[l][i] = T::template join<ScalarOps>(s[l][i], s[l + h][i]);
  return T::template finish<ScalarOps>(s[0], scale);
}

}  // namespace

bool has_no_direction(Transform transform, std::span<const double> x) noexcept {
  if (!has_directions(transform)) return false;
  const double expected = transform == Transform::unit ? 0.0 : x[0];
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == expected; });
}

RowConstants row_constants(Transform transform, std::span<const double> x) noexcept {
  RowConstants c;
  if (transform == Transform::share) {
    c.factor = canonical_sum(x);
    return c;
  }
  if (!has_directions(transform)) return c;
  if (has_no_direction(transform, x)) {
    c.factor = 0;
    return c;
  }
  // Ranks are centred already: their mean is exactly 0.
  if (transform == Transform::centred_unit) c.mean = canonical_sum(x) / static_cast<double>(x.size());
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::fabs(value - c.mean));
  const int exponent = std::ilogb(largest);
  c.scale_a = std::ldexp(1.0, -(exponent / 2));
  c.scale_b = std::ldexp(1.0, -(exponent - exponent / 2));
  double s[kCanonicalLanes] = {};
  for (std::size_t t = 0; t < x.size(); ++t) {
    const double scaled = (x[t] - c.mean) * c.scale_a * c.scale_b;
    s[t % kCanonicalLanes] = std::fma(scaled, scaled, s[t % kCanonicalLanes]);
  }
  c.factor = 1.0 / std::sqrt(fold(s, [](double a, double b) { return a + b; }));
  return c;
}

void apply_transform(Transform transform, const RowConstants& c, std::span<double> x) noexcept {
  switch (transform) {
    case Transform::identity: return;
    case Transform::square_root:
      for (double& value : x) value = std::sqrt(value);
      return;
    case Transform::share:
      for (double& value : x) value = value / c.factor;
      return;
    case Transform::unit:
    case Transform::centred_unit:
    case Transform::rank_unit:
      if (c.factor == 0) {
        std::fill(x.begin(), x.end(), 0.0);
        return;
      }
      for (double& value : x) value = (value - c.mean) * c.scale_a * c.scale_b * c.factor;
      return;
  }
}

void centred_ranks(std::span<const double> x, std::span<std::int32_t> order, std::span<std::int32_t> ranks) noexcept {
  const auto d = static_cast<std::int32_t>(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return x[static_cast<std::size_t>(a)] < x[static_cast<std::size_t>(b)];
  });
  for (std::int32_t first = 0; first < d;) {
    const double value = x[static_cast<std::size_t>(order[static_cast<std::size_t>(first)])];
    std::int32_t last = first;
    while (last + 1 < d && x[static_cast<std::size_t>(order[static_cast<std::size_t>(last + 1)])] == value) ++last;
    // Ranks count from 1: equal values at places first..last share (first + last + 2) / 2.
    for (std::int32_t i = first; i <= last; ++i)
      ranks[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = first + last + 2 - (d + 1);
    first = last + 1;
  }
}

double canonical_key(const Metric& metric, std::span<const double> u, std::span<const double> v) noexcept {
  double result = 0;
  visit_term(metric.term,
             [&](auto term) { result = key<decltype(term)>(u.data(), v.data(), u.size(), metric.p, metric.scale); });
  return result;
}

}  // namespace libknng
