#include "backend/cpu/product_filter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "backend/cpu/bf16_tile.h"
#include "backend/cpu/filter_choice.h"
#include "prepare/filter_operands.h"
#include "refine/bound.h"

namespace libknng {
namespace {

constexpr float kTakesNothing = std::numeric_limits<float>::infinity();

class ProductFilter final : public TileFilter {
 public:
  ProductFilter(const CpuProblem& p, const ProductArithmetic& arithmetic, FilterFrame common, Budget* budget,
                Monitor& monitor)
      : problem(p),
        tile(*arithmetic.tile),
        frame(std::move(common)),
        bound(p.metric, p.rows.dim(), frame.exponent, tile.unit(p.rows.dim())),
        columns(p.metric, p.columns, frame, bound, arithmetic.type, p.threads, budget, monitor),
        sample_(p.columns.rows(), FilterOperands::depth(p.rows.dim(), arithmetic.type), columns.panels(),
                columns.halves(), budget) {
    if (!p.grid.square) queries_.emplace(p.metric, p.rows, frame, bound, arithmetic.type, p.threads, budget, monitor);
  }

  std::unique_ptr<TileFilterWorker> worker(Budget* budget) const override;
  // A key is evaluated by itself.
  std::int64_t survivor_cost() const noexcept override { return 4; }

  const ColumnSample& sample() const noexcept override { return sample_; }

  const FilterOperands& rows() const noexcept { return queries_ ? *queries_ : columns; }

  const CpuProblem& problem;
  const FilterTile& tile;
  const FilterFrame frame;
  const KeyBound bound;
  const FilterOperands columns;

 private:
  ColumnSample sample_;
  std::optional<FilterOperands> queries_;
};

class ProductWorker final : public TileFilterWorker {
 public:
  ProductWorker(const ProductFilter& shared, Budget* budget)
      : shared_(shared),
        problem_(shared.problem),
        tile_(shared.tile),
        pair_(direct_tiles().front()->pair[static_cast<int>(shared.problem.metric.term)]),
        float_pair_(direct_tiles().front()->float_pair[static_cast<int>(shared.problem.metric.term)]),
        thresholds_(panels_over(problem_.grid.tile_rows) + panels_over(problem_.grid.tile_cols), budget),
        survivors_(filter_capacity(problem_.grid.tile_rows), budget),
        keys_(filter_capacity(problem_.grid.tile_rows), budget) {}

  void run(const Tile& t, const double* row_cutoffs, const double* column_cutoffs, DirectWorker& lists) override {
    float* row_thresholds = thresholds_.data();
    float* column_thresholds = row_thresholds + panels_over(t.rows);
    set_thresholds(problem_.rows, shared_.rows(), t.first_row, t.rows, row_cutoffs,
                   largest(problem_.columns, shared_.columns, t.first_column, t.columns), row_thresholds);
    if (problem_.grid.square)
      set_thresholds(problem_.columns, shared_.columns, t.first_column, t.columns, column_cutoffs,
                     largest(problem_.rows, shared_.rows(), t.first_row, t.rows), column_thresholds);
    else
      std::fill_n(column_thresholds, panels_over(t.columns), kTakesNothing);

    FilterStrip strip = strip_of(t.first_row, t.rows, row_thresholds, column_thresholds);
    strip.columns = shared_.columns.panels();
    strip.column_half = shared_.columns.halves();
    strip.first_column = t.first_column;
    strip.column_count = t.columns;
    strip.square = problem_.grid.square;
    lists.open(t);
    for (std::int64_t panel = 0; panel * kFilterPanel < t.first_column + t.columns;) {
      const FilterProgress done = tile_.run(strip, panel);
      panel = done.next_column_panel;
      evaluate(t, row_cutoffs, column_cutoffs, done.survivors, lists);
    }
  }

  void rank_sample(std::int64_t first_row, std::int64_t count, const DirectWorker& lists, SampleRanks& ranks) override {
    const ColumnSample& sample = shared_.sample();
    float* row_thresholds = thresholds_.data();
    float* column_thresholds = row_thresholds + kFilterPanel;
    std::fill_n(row_thresholds, 2 * kFilterPanel, kTakesNothing);
    FilterStrip strip = strip_of(first_row, count, row_thresholds, column_thresholds);
    strip.columns = sample.panels<void>();
    strip.column_half = sample.parts<float>();
    for (std::int64_t panel = 0; panel * kFilterPanel < sample.size(); ++panel) {
      strip.first_column = panel * kFilterPanel;
      strip.column_count = std::min(kFilterPanel, sample.size() - strip.first_column);
      for (std::int64_t i = 0; i < count; ++i)
        if (!problem_.rows.directionless(first_row + i)) row_thresholds[i] = -ranks.limit(i);
      const FilterProgress done = tile_.run(strip, panel);
      for (std::int64_t s = 0; s < done.survivors; ++s) {
        const FilterSurvivor& pair = survivors_[s];
        const std::int64_t place = strip.first_column + pair.column;
        if (!lists.dropped(first_row + pair.row, sample.id(place)))
          ranks.add(pair.row, strip.column_half[place] - pair.product, place);
      }
      ranks.settle();
    }
  }

 private:
  FilterStrip strip_of(std::int64_t first_row, std::int64_t count, const float* row_thresholds,
                       const float* column_thresholds) {
    FilterStrip strip;
    strip.rows = shared_.rows().rows();
    strip.row_half = shared_.rows().halves();
    strip.first_row = first_row;
    strip.row_count = count;
    strip.dim = problem_.rows.dim();
    strip.row_threshold = row_thresholds;
    strip.column_threshold = column_thresholds;
    strip.survivors = survivors_.data();
    strip.capacity = survivors_.size();
    return strip;
  }

  // The largest norm and residual of a block of points.
  static KeyBound::Others largest(const CanonicalRows& points, const FilterOperands& operands, std::int64_t first,
                                  std::int64_t count) {
    KeyBound::Others others;
    for (std::int64_t i = first; i < first + count; ++i) {
      if (points.directionless(i)) continue;
      others.upper = std::max(others.upper, operands.norms(i).upper);
      others.residual = std::max(others.residual, operands.norms(i).residual);
    }
    return others;
  }

  // Thresholds of a block of points, by place from the start of its first panel.
  void set_thresholds(const CanonicalRows& points, const FilterOperands& operands, std::int64_t first,
                      std::int64_t count, const double* cutoffs, const KeyBound::Others& others, float* out) const {
    std::fill_n(out, panels_over(count), kTakesNothing);
    out += first % kFilterPanel;
    for (std::int64_t i = 0; i < count; ++i)
      if (!points.directionless(first + i))
        out[i] = shared_.bound.threshold(operands.norms(first + i), cutoffs[i], others);
  }

  double key_of(const Tile& t, const FilterSurvivor& pair, DirectWorker& lists) const noexcept {
    const std::int64_t dim = problem_.rows.dim();
    const float* u = problem_.rows.floats(t.first_row + pair.row);
    const float* v = u ? problem_.columns.floats(t.first_column + pair.column) : nullptr;
    if (v) return float_pair_(u, v, dim, problem_.metric.p, problem_.metric.scale);
    return pair_(lists.row(t, pair.row), lists.column(t, pair.column), dim, problem_.metric.p, problem_.metric.scale);
  }

  // Canonical keys of the survivors, which are then offered as in the direct engine.
  void evaluate(const Tile& t, const double* row_cutoffs, const double* column_cutoffs, std::int64_t count,
                DirectWorker& lists) {
    std::int64_t kept = 0;
    for (std::int64_t s = 0; s < count; ++s) {
      const FilterSurvivor& pair = survivors_[s];
      const std::int64_t i = t.first_row + pair.row, j = t.first_column + pair.column;
      const double key = key_of(t, pair, lists);
      if (!shared_.bound.holds(shared_.rows().norms(i), shared_.columns.norms(j), pair.product, key))
        ++counts_.violations;
      if (key <= row_cutoffs[pair.row] || (problem_.grid.square && key <= column_cutoffs[pair.column]))
        keys_[kept++] = {key, pair.row, pair.column};
    }
    counts_.keys += count;
    counts_.inexact = true;
    if (kept > 0) lists.offer(t, t.first_row, {keys_.data(), static_cast<std::size_t>(kept)});
  }

  const ProductFilter& shared_;
  const CpuProblem& problem_;
  const FilterTile& tile_;
  PairFunction* pair_;
  FloatPairFunction* float_pair_;
  Buffer<float> thresholds_;
  Buffer<FilterSurvivor> survivors_;
  Buffer<Survivor> keys_;
};

std::unique_ptr<TileFilterWorker> ProductFilter::worker(Budget* budget) const {
  return std::make_unique<ProductWorker>(*this, budget);
}

}  // namespace

bool product_filter_can_run(const Metric& metric, std::int64_t dim) {
  return (metric.term == Term::squared_difference || metric.term == Term::product) && dim <= kLargestFilterDim;
}

ProductArithmetic fp32_arithmetic() { return {filter_tiles().front(), OperandType::fp32}; }

// bfloat16 is padded to 32 coordinates, and the work on each product is the same: short rows gain nothing.
ProductArithmetic fastest_arithmetic(std::int64_t dim) {
  const FilterTile* bf16 = dim >= 48 ? fast_bf16_tile() : nullptr;
  return bf16 ? ProductArithmetic{bf16, OperandType::bf16} : fp32_arithmetic();
}

std::unique_ptr<TileFilter> make_product_filter(const CpuProblem& problem, std::int64_t k, Budget* budget,
                                                Monitor& monitor) {
  FilterFrame frame = FilterFrame::of(problem.metric, problem.columns, problem.rows, problem.threads, budget, monitor);
  ProductArithmetic arithmetic = fastest_arithmetic(problem.rows.dim());
  if (arithmetic.type == OperandType::bf16 &&
      !bf16_pays(problem, k, frame, *fp32_arithmetic().tile, *arithmetic.tile, budget))
    arithmetic = fp32_arithmetic();
  return make_product_filter(problem, arithmetic, std::move(frame), budget, monitor);
}

std::unique_ptr<TileFilter> make_product_filter(const CpuProblem& problem, const ProductArithmetic& arithmetic,
                                                FilterFrame frame, Budget* budget, Monitor& monitor) {
  return std::make_unique<ProductFilter>(problem, arithmetic, std::move(frame), budget, monitor);
}

std::int64_t product_filter_bytes(std::int64_t tile_rows, std::int64_t tile_cols) {
  return 4 * (panels_over(tile_rows) + panels_over(tile_cols)) +
         filter_capacity(tile_rows) * static_cast<std::int64_t>(sizeof(FilterSurvivor) + sizeof(Survivor));
}

}  // namespace libknng
