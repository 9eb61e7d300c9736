#include "prepare/filter_operands.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/float_env.h"
#include "prepare/filter_panel.h"

namespace libknng {
namespace {

constexpr std::int64_t kCentreRows = 255;

// The median of each coordinate over some rows spread over the data: an outlier among them moves it little. Takes less
// memory than the operands of twice as many rows.
Buffer<double> median_row(const CanonicalRows& rows, Budget* budget) {
  const std::int64_t n = rows.rows(), d = rows.dim(), count = std::max<std::int64_t>(1, std::min(n / 2, kCentreRows));
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

double largest_difference(const CanonicalRows& rows, const Buffer<double>& centre, int threads, Budget* budget,
                          Monitor& monitor) {
  const std::int64_t d = rows.dim();
  Buffer<double> scratch(d * threads, budget);
  double largest = 0;
#pragma omp parallel num_threads(threads) reduction(max : largest)
  {
    const FloatEnv env;
    double* u = scratch.data() + omp_get_thread_num() * d;
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      if (monitor.stopped()) continue;
      rows.load(i, u);
      for (std::int64_t t = 0; t < d; ++t) largest = std::max(largest, std::fabs(u[t] - centre[t]));
    }
  }
  monitor.check();
  return largest;
}

}  // namespace

FilterFrame FilterFrame::of(const Metric& metric, const CanonicalRows& rows, const CanonicalRows& queries, int threads,
                            Budget* budget, Monitor& monitor) {
  FilterFrame frame;
  frame.centre = metric.term == Term::product ? Buffer<double>(rows.dim(), 0.0, budget) : median_row(rows, budget);
  double largest = largest_difference(rows, frame.centre, threads, budget, monitor);
  if (&queries != &rows)
    largest = std::max(largest, largest_difference(queries, frame.centre, threads, budget, monitor));
  if (largest > 0) frame.exponent = -std::ilogb(largest);
  return frame;
}

std::int64_t FilterOperands::bytes(std::int64_t rows, std::int64_t dim) {
  const std::int64_t padded = round_up(rows, kFilterPanel);
  const std::int64_t of_point = checked_add(checked_mul(dim, 4, "dim"), 4, "dim");
  return checked_add(checked_mul(padded, of_point, "rows"),
                     rows * static_cast<std::int64_t>(sizeof(OperandNorms)) + 8 * dim, "rows");
}

FilterOperands::FilterOperands(const Metric& metric, const CanonicalRows& rows, const FilterFrame& frame,
                               const KeyBound& bound, int threads, Budget* budget, Monitor& monitor) {
  const std::int64_t n = rows.rows(), d = rows.dim(), padded = round_up(n, kFilterPanel);
  panels_ = Buffer<float>(checked_mul(padded, d, "rows"), budget);
  halves_ = Buffer<float>(padded, std::numeric_limits<float>::infinity(), budget);
  norms_ = Buffer<OperandNorms>(n, budget);
  Buffer<double> scratch(d * threads, budget);
  // 2^exponent in two factors: neither overflows.
  const double scale_a = std::ldexp(1.0, frame.exponent / 2),
               scale_b = std::ldexp(1.0, frame.exponent - frame.exponent / 2);
  const bool shifted = metric.term != Term::product;
  monitor.stage("operands", static_cast<double>(n));
#pragma omp parallel num_threads(threads)
  {
    const FloatEnv env;
    double* u = scratch.data() + omp_get_thread_num() * d;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t panel = 0; panel < padded / kFilterPanel; ++panel) {
      if (monitor.stopped()) continue;
      float* out = panels_.data() + panel * kFilterPanel * d;
      for (std::int64_t place = 0; place < kFilterPanel; ++place) {
        const std::int64_t i = panel * kFilterPanel + place;
        if (i >= n) {
          for (std::int64_t t = 0; t < d; ++t) out[t * kFilterPanel + place] = 0;
          continue;
        }
        rows.load(i, u);
        double square_sum = 0, residual_sum = 0, row_sum = 0;
        for (std::int64_t t = 0; t < d; ++t) {
          const double x = (shifted ? u[t] - frame.centre[t] : u[t]) * scale_a * scale_b;
          const auto a = static_cast<float>(x);
          const double rounded = a, residual = x - rounded;
          square_sum += rounded * rounded;
          residual_sum += residual * residual;
          row_sum += x * x;
          out[t * kFilterPanel + place] = a;
        }
        norms_[i] = operand_norms(square_sum, residual_sum, row_sum, d);
        if (!rows.directionless(i)) halves_[i] = bound.half(norms_[i]);
      }
      monitor.advance(static_cast<double>(std::min(kFilterPanel, n - panel * kFilterPanel)));
    }
  }
  monitor.check();
}

}  // namespace libknng
