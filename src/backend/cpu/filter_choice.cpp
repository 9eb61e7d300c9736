#include "backend/cpu/filter_choice.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/direct_tile.h"
#include "core/checked.h"
#include "core/division.h"
#include "prepare/drawn_columns.h"

namespace libknng {
namespace {

// A survivor costs about as much as so many products in fp32 (Emerald Rapids: 60 ns and 0.15 ns a coordinate, against
// 0.011 ns a coordinate).
double survivor_cost(std::int64_t dim) { return 14 + 5500 / static_cast<double>(dim); }
// bfloat16 saves at least this share of a product in fp32.
constexpr double kSaved = 0.4;
// The sample costs as much as a million pairs in fp32: below so many bfloat16 saves less.
constexpr double kFewestPairs = 4e6;

// Some points: canonical rows, and both operands with what the bound knows of them.
class Sample {
 public:
  Sample(const Metric& metric, const CanonicalRows& points, const FilterFrame& frame, std::int64_t count,
         Budget* budget)
      : dim_(points.dim()),
        ids_(count, budget),
        rows_(checked_mul(count, dim_, "rows"), budget),
        operands_(2 * count * dim_, budget),
        norms_(2 * count, budget) {
    const double scale_a = std::ldexp(1.0, frame.exponent / 2),
                 scale_b = std::ldexp(1.0, frame.exponent - frame.exponent / 2);
    for (std::int64_t s = 0; s < count; ++s) {
      ids_[s] = drawn_point(points.rows(), count, s);
      double* u = rows_.data() + s * dim_;
      points.load(ids_[s], u);
      double sums[2] = {}, residuals[2] = {}, row_sum = 0;
      for (std::int64_t t = 0; t < dim_; ++t) {
        const double x = (metric.term == Term::product ? u[t] : u[t] - frame.centre[t]) * scale_a * scale_b;
        const float rounded[2] = {static_cast<float>(x), rounded_to_bf16(x)};
        for (int type = 0; type < 2; ++type) {
          sums[type] += static_cast<double>(rounded[type]) * static_cast<double>(rounded[type]);
          operands_[(2 * s + type) * dim_ + t] = rounded[type];
          residuals[type] += (x - static_cast<double>(rounded[type])) * (x - static_cast<double>(rounded[type]));
        }
        row_sum += x * x;
      }
      for (int type = 0; type < 2; ++type)
        norms_[2 * s + type] = operand_norms(sums[type], residuals[type], row_sum, dim_);
    }
  }

  std::int64_t size() const noexcept { return ids_.size(); }
  std::int64_t id(std::int64_t s) const noexcept { return ids_[s]; }
  const double* row(std::int64_t s) const noexcept { return rows_.data() + s * dim_; }
  const float* operand(std::int64_t s, int type) const noexcept { return operands_.data() + (2 * s + type) * dim_; }
  const OperandNorms& norms(std::int64_t s, int type) const noexcept { return norms_[2 * s + type]; }

 private:
  std::int64_t dim_;
  Buffer<std::int64_t> ids_;
  Buffer<double> rows_;
  Buffer<float> operands_;
  Buffer<OperandNorms> norms_;
};

}  // namespace

bool bf16_pays(const CpuProblem& problem, std::int64_t k, const FilterFrame& frame, const FilterTile& fp32,
               const FilterTile& bf16, Budget* budget) {
  const Metric& metric = problem.metric;
  const std::int64_t n = problem.columns.rows(), dim = problem.rows.dim();
  // Memory below that of the operands that follow.
  const std::int64_t count = std::min<std::int64_t>(n / 8, 256),
                     asked = std::min<std::int64_t>(problem.rows.rows() / 8, 32);
  if (asked == 0 || count == 0 || problem.grid.pairs() < kFewestPairs) return false;
  // Where cut-offs come to lie.
  const std::int64_t rank = std::clamp<std::int64_t>(ceil_div(checked_mul(k, count, "k"), n), 1, count);
  const Sample columns(metric, problem.columns, frame, count, budget), rows(metric, problem.rows, frame, asked, budget);
  const KeyBound bounds[2] = {{metric, dim, frame.exponent, fp32.unit(dim)},
                              {metric, dim, frame.exponent, bf16.unit(dim)}};
  KeyBound::Others others[2];
  for (int type = 0; type < 2; ++type)
    for (std::int64_t j = 0; j < count; ++j) {
      others[type].upper = std::max(others[type].upper, columns.norms(j, type).upper);
      others[type].residual = std::max(others[type].residual, columns.norms(j, type).residual);
    }
  PairFunction* pair = direct_tiles().front()->pair[static_cast<int>(metric.term)];
  Buffer<double> keys(count, budget);
  std::int64_t pairs = 0, survivors[2] = {};
  for (std::int64_t i = 0; i < asked; ++i) {
    if (problem.rows.directionless(rows.id(i))) continue;
    std::int64_t found = 0;
    for (std::int64_t j = 0; j < count; ++j)
      if (!problem.columns.directionless(columns.id(j)) && !(problem.grid.square && rows.id(i) == columns.id(j)))
        keys[found++] = pair(rows.row(i), columns.row(j), dim, metric.p, metric.scale);
    if (found < rank) continue;
    std::nth_element(keys.begin(), keys.begin() + (rank - 1), keys.begin() + found);
    for (int type = 0; type < 2; ++type) {
      const double threshold =
          static_cast<double>(bounds[type].threshold(rows.norms(i, type), keys[rank - 1], others[type]));
      for (std::int64_t j = 0; j < count; ++j) {
        const float* a = rows.operand(i, type);
        const float* b = columns.operand(j, type);
        double product = 0;
        for (std::int64_t t = 0; t < dim; ++t) product += static_cast<double>(a[t]) * static_cast<double>(b[t]);
        survivors[type] += product - static_cast<double>(bounds[type].half(columns.norms(j, type))) >= threshold;
      }
    }
    pairs += count;
  }
  const auto more = static_cast<double>(survivors[1] - survivors[0]);
  return pairs > 0 && more * survivor_cost(dim) < kSaved * static_cast<double>(pairs);
}

}  // namespace libknng
