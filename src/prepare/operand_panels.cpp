#include "prepare/operand_panels.h"

#include <algorithm>
#include <cmath>

#include "prepare/filter_panel.h"

namespace libknng {
namespace {

constexpr std::int64_t kCentreRows = 255;

// The median of each coordinate over some rows spread over the data: an outlier among them moves it little. Takes less
// memory than the operands of twice as many rows.
Buffer<double> median_row(const CanonicalRows& rows, Budget* budget) {
  const std::int64_t n = rows.rows(), d = rows.dim(), count = std::max<std::int64_t>(1, std::min(n / 16, kCentreRows));
  Buffer<double> centre(d, budget);
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

// How a row becomes an operand: x = (u - centre) 2^exponent, in two factors, neither of which overflows.
struct Rounding {
  const double* centre;  // or nullptr
  double scale_a, scale_b;
  OperandType type;
};

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
  const Rounding rounding = {metric.term == Term::product ? nullptr : frame.centre.data(),
                             std::ldexp(1.0, frame.exponent / 2), std::ldexp(1.0, frame.exponent - frame.exponent / 2),
                             type};
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

Buffer<float> operand_panels(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame,
                             ThreadTeam& team, Budget* budget, Monitor& monitor,
                             const std::function<void(std::int64_t point, const RoundingSums& sums)>& note) {
  const std::int64_t n = rows.rows(), d = rows.dim(), padded = round_up(n, kFilterPanel);
  Buffer<float> panels(checked_mul(padded, d, "rows"), budget);
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
