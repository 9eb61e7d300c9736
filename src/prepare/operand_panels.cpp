#include "prepare/operand_panels.h"

#include <algorithm>
#include <cmath>

#include "core/division.h"
#include "prepare/filter_panel.h"
#include "prepare/float_rows.h"

namespace libknng {
namespace {

constexpr std::int64_t kCentreRows = 255;

// Whether all rows are stored as the metric takes them.
bool all_floats(const CanonicalRows& rows) noexcept {
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    if (!rows.floats(i)) return false;
  return true;
}

// The median of each coordinate over some rows spread over the data: an outlier among them moves it little. Few rows
// want little time for it, and the products that it makes smaller are few. Takes less memory than the operands of twice
// as many rows.
Buffer<double> median_row(const CanonicalRows& rows, Budget* budget) {
  const std::int64_t n = rows.rows(), d = rows.dim();
  const std::int64_t most = n / 16 < kCentreRows ? kMostInMedian : kCentreRows;
  const std::int64_t count = std::clamp<std::int64_t>(n / 16, 1, most);
  Buffer<double> centre(d, budget);
  if (count <= kMostInMedian) {
    const float* floats[kMostInMedian];
    bool as_stored = true;
    for (std::int64_t s = 0; s < count; ++s) {
      floats[s] = rows.floats(s * (n / count));
      as_stored = as_stored && floats[s] != nullptr;
    }
    if (as_stored) {
      float_rows().front()->median(floats, count, d, centre.data());
      return centre;
    }
  }
  Buffer<double> sample(checked_mul(count, d, "rows"), budget);
  Buffer<double> values(count, budget);
  for (std::int64_t s = 0; s < count; ++s) rows.load(s * (n / count), sample.data() + s * d);
  for (std::int64_t t = 0; t < d; ++t) {
    for (std::int64_t s = 0; s < count; ++s) values[s] = sample[s * d + t];
    std::nth_element(values.begin(), values.begin() + count / 2, values.end());
    centre[t] = values[count / 2];
  }
  return centre;
}

double largest_difference(const CanonicalRows& rows, const Buffer<double>& centre, ThreadTeam& team, Budget* budget,
                          Monitor& monitor) {
  const std::int64_t d = rows.dim();
  constexpr std::int64_t kLanes = 8;  // apart, so that none waits for the one before
  Buffer<double> scratch(d * team.size(), budget);
  Buffer<double> largest(kLanes * team.size(), 0.0, budget);
  constexpr std::int64_t together = 64;
  team.for_each(rows.rows(), together, [&](int member, std::int64_t begin, std::int64_t end) {
    double* u = scratch.data() + member * d;
    double lanes[kLanes] = {};
    const auto look_at = [&](std::int64_t t, std::int64_t lane) {
      lanes[lane] = std::max(lanes[lane], std::fabs(u[t] - centre[t]));
    };
    for (std::int64_t i = begin; i < end && !monitor.stopped(); ++i) {
      if (const float* const stored = rows.floats(i)) {
        lanes[0] = std::max(lanes[0], float_rows().front()->farthest(stored, centre.data(), d));
        continue;
      }
      rows.load(i, u);
      std::int64_t t = 0;
      for (; t + kLanes <= d; t += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) look_at(t + lane, lane);
      for (; t < d; ++t) look_at(t, 0);
    }
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      largest[member * kLanes + lane] = std::max(largest[member * kLanes + lane], lanes[lane]);
  });
  monitor.check();
  return *std::max_element(largest.begin(), largest.end());
}

Rounding rounding_of(const Metric& metric, const FilterFrame& frame, OperandType type) {
  return {metric.term == Term::product ? nullptr : frame.centre.data(), std::ldexp(1.0, frame.exponent / 2),
          std::ldexp(1.0, frame.exponent - frame.exponent / 2), type};
}

// u becomes a. Sums in several lanes, as processors add several numbers at a time; the bound supposes no order.
RoundingSums round_row(const Rounding& to, std::int64_t dim, double* u) noexcept {
  constexpr std::int64_t kLanes = 8;
  double square[kLanes] = {}, residual[kLanes] = {}, row[kLanes] = {};
  const auto round_one = [&](std::int64_t t, std::int64_t lane) {
    const double x = (to.centre ? u[t] - to.centre[t] : u[t]) * to.scale_a * to.scale_b;
    const double a = to.type == OperandType::bf16 ? rounded_to_bf16(x) : static_cast<float>(x);
    square[lane] += a * a;
    residual[lane] += (x - a) * (x - a);
    row[lane] += x * x;
    u[t] = a;
  };
  std::int64_t t = 0;
  for (; t + kLanes <= dim; t += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) round_one(t + lane, lane);
  for (; t < dim; ++t) round_one(t, 0);
  RoundingSums sums;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    sums.square += square[lane];
    sums.residual += residual[lane];
    sums.row += row[lane];
  }
  return sums;
}

}  // namespace

FilterFrame FilterFrame::of(const Metric& metric, const CanonicalRows& rows, const CanonicalRows& queries,
                            ThreadTeam& team, Budget* budget, Monitor& monitor) {
  FilterFrame frame;
  frame.centre = metric.term == Term::product ? Buffer<double>(rows.dim(), 0.0, budget) : median_row(rows, budget);
  double largest = largest_difference(rows, frame.centre, team, budget, monitor);
  if (&queries != &rows) largest = std::max(largest, largest_difference(queries, frame.centre, team, budget, monitor));
  if (largest > 0) frame.exponent = -std::ilogb(largest);
  return frame;
}

std::int64_t operand_panel_bytes(std::int64_t rows, std::int64_t dim) {
  return checked_add(checked_mul(round_up(rows, kFilterPanel), checked_mul(dim, 4, "dim"), "rows"), 8 * dim, "rows");
}

void round_points(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame, OperandType type,
                  ThreadTeam& team, Budget* budget, Monitor& monitor,
                  const std::function<void(std::int64_t point, const double* a, const RoundingSums& sums)>& store) {
  const std::int64_t n = rows.rows(), d = rows.dim();
  Buffer<double> scratch(d * team.size(), budget);
  const Rounding rounding = rounding_of(metric, frame, type);
  monitor.stage("operands", static_cast<double>(n));
  team.for_each(monitor, n, kFilterPanel, [&](int member, std::int64_t first, std::int64_t end) {
    double* u = scratch.data() + member * d;
    for (std::int64_t i = first; i < end; ++i) {
      rows.load(i, u);
      const RoundingSums sums = round_row(rounding, d, u);
      store(i, u, sums);
    }
  });
}

namespace {

// The same of rows that are floats, straight to the panels.
void round_floats(const CanonicalRows& rows, const Rounding& rounding, ThreadTeam& team, Monitor& monitor,
                  Buffer<float>& panels, const std::function<void(std::int64_t, const RoundingSums&)>& note) {
  const std::int64_t n = rows.rows(), d = rows.dim();
  const FloatRows& kernels = *float_rows().front();
  monitor.stage("operands", static_cast<double>(n));
  team.for_each(monitor, n, kFilterPanel, [&](int, std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < first + kFilterPanel; i += kRoundedTogether) {
      const float* stored[kRoundedTogether];
      RoundingSums sums[kRoundedTogether];
      for (std::int64_t j = 0; j < kRoundedTogether; ++j) stored[j] = i + j < end ? rows.floats(i + j) : nullptr;
      kernels.round(rounding, stored, d, panels.data() + first * d + (i - first), sums);
      for (std::int64_t j = 0; j < kRoundedTogether && i + j < end; ++j) note(i + j, sums[j]);
    }
  });
}

}  // namespace

Buffer<float> operand_panels(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame,
                             ThreadTeam& team, Budget* budget, Monitor& monitor,
                             const std::function<void(std::int64_t point, const RoundingSums& sums)>& note) {
  const std::int64_t n = rows.rows(), d = rows.dim(), padded = round_up(n, kFilterPanel);
  Buffer<float> panels(checked_mul(padded, d, "rows"), budget);
  if (all_floats(rows)) {
    round_floats(rows, rounding_of(metric, frame, OperandType::fp32), team, monitor, panels, note);
    return panels;
  }
  const auto write = [&](std::int64_t i, const double* a) {
    float* out = panels.data() + i / kFilterPanel * kFilterPanel * d + i % kFilterPanel;
    for (std::int64_t t = 0; t < d; ++t) out[t * kFilterPanel] = a ? static_cast<float>(a[t]) : 0.0f;
  };
  round_points(metric, rows, frame, OperandType::fp32, team, budget, monitor,
               [&](std::int64_t i, const double* a, const RoundingSums& sums) {
                 write(i, a);
                 note(i, sums);
               });
  for (std::int64_t i = n; i < padded; ++i) write(i, nullptr);
  return panels;
}

}  // namespace libknng
