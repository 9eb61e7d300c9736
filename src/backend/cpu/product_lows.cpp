#include <cmath>
#include <cstdlib>
#include <optional>

#include "backend/cpu/low_products.h"
#include "backend/cpu/tile_lows.h"
#include "prepare/low_operands.h"

namespace libknng {
namespace {

class ProductLows final : public TileLows {
 public:
  ProductLows(const CpuProblem& problem, const FilterFrame& frame, Budget* budget, Monitor& monitor)
      : problem_(problem),
        bound_(problem.metric, problem.rows.dim(), std::ldexp(1.0, frame.exponent), fp32_unit(problem.rows.dim()),
               LowOperands::kRounding),
        columns_(problem.metric, problem.columns, frame, bound_, problem.team, budget, monitor) {
    if (!problem.grid.square)
      queries_.emplace(problem.metric, problem.rows, frame, bound_, problem.team, budget, monitor);
  }

  const float* write(const Tile& t, DirectWorkspace&, float* buffer, std::int64_t stride) const override {
    LowStrip strip;
    strip.rows = rows().panels();
    strip.columns = columns_.panels();
    strip.first_row = t.first_row;
    strip.row_count = t.rows;
    strip.first_column = t.first_column;
    strip.column_count = t.columns;
    strip.dim = problem_.rows.dim();
    strip.row_terms = rows().terms();
    strip.column_terms = columns_.terms();
    strip.square = problem_.grid.square && t.first_row < t.first_column + t.columns;
    strip.low = buffer;
    strip.stride = stride;
    low_products().front()->run(strip);
    return buffer + t.first_row % kFilterPanel * stride + t.first_column % kFilterPanel;
  }

  // The product by a power of two is exact but for underflow, which rounding up to fp32 covers.
  float cut(double cutoff) const override {
    if (cutoff > 0 && cutoff * bound_.scale() < 0x1p-1000) return 0x1p-149f;
    return round_up(cutoff * bound_.scale());
  }

  bool holds(std::int64_t row, std::int64_t column, float low, double key) const override {
    const double scaled = key * bound_.scale(), lowest = low;
    const double width = static_cast<double>(rows().bounds()[row]) + static_cast<double>(columns_.bounds()[column]);
    return lowest <= scaled && scaled <= lowest + 2 * width;
  }

  bool inexact() const noexcept override { return true; }
  double keys(double) const noexcept override { return 0; }

 private:
  const LowOperands& rows() const noexcept { return queries_ ? *queries_ : columns_; }

  const CpuProblem& problem_;
  const LowBound bound_;
  const LowOperands columns_;
  std::optional<LowOperands> queries_;
};

}  // namespace

bool product_lows_can_run(const Metric& metric, std::int64_t dim) {
  return (metric.term == Term::squared_difference || metric.term == Term::product) && dim <= kLargestFilterDim;
}

std::unique_ptr<TileLows> make_product_lows(const CpuProblem& problem, Budget* budget, Monitor& monitor) {
  const FilterFrame frame =
      FilterFrame::of(problem.metric, problem.columns, problem.rows, problem.team, budget, monitor);
  if (std::abs(frame.exponent) > LowBound::kLargestExponent) return nullptr;
  return std::make_unique<ProductLows>(problem, frame, budget, monitor);
}

}  // namespace libknng
