#include "prepare/canonical_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace libknng {
namespace {

// Centred ranks lie within +-(d - 1).
bool short_ranks_suffice(std::int64_t dim) { return dim <= std::numeric_limits<std::int16_t>::max(); }

bool has_constants(Transform t) { return has_directions(t) || t == Transform::share; }

// What can be wrong with a row; the smallest id wins, so that the message depends on neither threads nor order.
struct Fault {
  std::atomic<std::int64_t> row{std::numeric_limits<std::int64_t>::max()};
  void add(std::int64_t i) noexcept {
    std::int64_t known = row.load();
    while (i < known && !row.compare_exchange_weak(known, i)) {
    }
  }
};

bool is_faulty(const Metric& m, double limit, std::span<const double> x) noexcept {
  // Nearly all rows are sound: one test a row.
  int large = 0, negative = 0, positive = 0;
  for (const double value : x) {
    large |= std::fabs(value) > limit;
    negative |= value < 0;
    positive |= value > 0;
  }
  return large || (negative && refuses_negative(m.transform)) || (m.transform == Transform::share && !positive);
}

// Whether no row of the data set can be.
bool none_is_faulty(const Metric& m, double limit, const Dataset& data) noexcept {
  return std::ranges::none_of(data.chunks(),
                              [&](const auto& chunk) { return may_refuse(m.transform, limit, chunk->view().dtype); });
}

}  // namespace

void refuse_row(const Dataset& data, const Metric& m, std::int64_t row, const char* what) {
  std::vector<double> x(static_cast<std::size_t>(data.dim()));
  data.load(row, x.data());
  refuse_row(x, m, data.original(row), what);
}

void refuse_row(std::span<const double> x, const Metric& m, std::int64_t row, const char* what) {
  const double limit = largest_magnitude(m, static_cast<std::int64_t>(x.size()));
  for (std::size_t t = 0; t < x.size(); ++t) {
    const auto col = static_cast<std::int64_t>(t);
    if (x[t] < 0 && refuses_negative(m.transform))
      fail(KNNG_ERR_DATA, what, {.row = row, .col = col}, "%s: %g is negative, which metric=%s does not take", what,
           x[t], m.name);
    if (std::fabs(x[t]) > limit)
      fail(KNNG_ERR_DATA, what, {.row = row, .col = col},
           "%s: %g is too large: with dimension %zu metric=%s would overflow fp64 beyond %g", what, x[t], x.size(),
           m.name, limit);
  }
  fail(KNNG_ERR_DATA, what, {.row = row}, "%s: a row sums to 0; metric=%s needs a positive sum", what, m.name);
}

std::int64_t CanonicalRows::bytes_per_row(const Metric& metric, std::int64_t dim) {
  std::int64_t bytes = has_constants(metric.transform) ? static_cast<std::int64_t>(sizeof(RowConstants)) : 0;
  if (metric.transform == Transform::rank_unit) bytes += dim * (short_ranks_suffice(dim) ? 2 : 4);
  return bytes;
}

CanonicalRows::CanonicalRows(const Dataset& data, const Metric& metric, ThreadTeam& team, Budget* budget,
                             Monitor& monitor, const char* what, RowOrder order)
    : data_(data), metric_(metric), order_(std::move(order)) {
  const std::int64_t n = data.rows(), d = data.dim();
  const auto size = static_cast<std::size_t>(d);
  const bool ranks = metric.transform == Transform::rank_unit;
  if (has_constants(metric.transform)) constants_ = Buffer<RowConstants>(n, budget);
  if (ranks && short_ranks_suffice(d)) short_ranks_ = Buffer<std::int16_t>(checked_mul(n, d, what), budget);
  if (ranks && !short_ranks_suffice(d)) long_ranks_ = Buffer<std::int32_t>(checked_mul(n, d, what), budget);
  Buffer<double> scratch(d * team.size(), budget);
  Buffer<std::int32_t> rank_scratch(ranks ? 2 * d * team.size() : 0, budget);

  const double limit = largest_magnitude(metric, d);
  if (constants_.empty() && none_is_faulty(metric, limit, data)) return;
  Fault fault;
  std::atomic<bool> directionless{false};
  monitor.stage("prepare", static_cast<double>(n));
  constexpr std::int64_t together = 16;
  team.for_each(monitor, n, together, [&](int member, std::int64_t begin, std::int64_t end) {
    const std::span<double> x(scratch.data() + member * d, size);
    std::int32_t* by_value = ranks ? rank_scratch.data() + member * 2 * d : nullptr;
    std::int32_t* rank = ranks ? by_value + d : nullptr;
    for (std::int64_t i = begin; i < end; ++i) {
      data.load(id(i), x.data());
      if (is_faulty(metric, limit, x)) {
        fault.add(id(i));
        continue;
      }
      if (constants_.empty()) continue;
      if (has_no_direction(metric.transform, x)) directionless.store(true);
      if (ranks) {
        centred_ranks(x, {by_value, size}, {rank, size});
        for (std::int64_t t = 0; t < d; ++t) {
          x[static_cast<std::size_t>(t)] = rank[t];
          if (short_ranks_.empty())
            long_ranks_[i * d + t] = rank[t];
          else
            short_ranks_[i * d + t] = static_cast<std::int16_t>(rank[t]);
        }
      }
      constants_[i] = row_constants(metric.transform, x);
    }
  });
  any_directionless_ = directionless.load();
  if (fault.row.load() == std::numeric_limits<std::int64_t>::max()) return;
  refuse_row(data, metric, fault.row.load(), what);
}

void CanonicalRows::load(std::int64_t row, double* out) const noexcept {
  const std::int64_t d = dim();
  if (!short_ranks_.empty()) {
    const std::int16_t* ranks = short_ranks_.data() + row * d;
    for (std::int64_t t = 0; t < d; ++t) out[t] = ranks[t];
  } else if (!long_ranks_.empty()) {
    const std::int32_t* ranks = long_ranks_.data() + row * d;
    for (std::int64_t t = 0; t < d; ++t) out[t] = ranks[t];
  } else {
    data_.load(id(row), out);
  }
  apply_transform(metric_.transform, constants_.empty() ? RowConstants() : constants_[row],
                  {out, static_cast<std::size_t>(d)});
}

}  // namespace libknng
