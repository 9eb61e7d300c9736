#include "backend/cpu/fp32_filter.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "backend/cpu/filter_tile.h"
#include "prepare/filter_operands.h"
#include "refine/bound.h"

namespace libknng {
namespace {

constexpr float kTakesNothing = std::numeric_limits<float>::infinity();

class Fp32Filter final : public TileFilter {
 public:
  Fp32Filter(const CpuProblem& p, Budget* budget, Monitor& monitor)
      : problem(p),
        frame(FilterFrame::of(p.metric, p.columns, p.rows, p.threads, budget, monitor)),
        bound(p.metric, p.rows.dim(), frame.exponent, fp32_unit(p.rows.dim())),
        columns(p.metric, p.columns, frame, bound, p.threads, budget, monitor) {
    if (!p.grid.square) queries_.emplace(p.metric, p.rows, frame, bound, p.threads, budget, monitor);
  }

  std::unique_ptr<TileFilterWorker> worker(Budget* budget) const override;
  // A key is evaluated by itself, from rows that have to be converted first.
  std::int64_t survivor_cost() const noexcept override { return 24; }

  const FilterOperands& rows() const noexcept { return queries_ ? *queries_ : columns; }

  const CpuProblem& problem;
  const FilterFrame frame;
  const KeyBound bound;
  const FilterOperands columns;

 private:
  std::optional<FilterOperands> queries_;
};

class Fp32Worker final : public TileFilterWorker {
 public:
  Fp32Worker(const Fp32Filter& shared, Budget* budget)
      : shared_(shared),
        problem_(shared.problem),
        tile_(*filter_tiles().front()),
        pair_(direct_tiles().front()->pair[static_cast<int>(shared.problem.metric.term)]),
        thresholds_(panels_over(problem_.grid.tile_rows) + panels_over(problem_.grid.tile_cols), budget),
        survivors_(filter_capacity(problem_.grid.tile_rows), budget),
        keys_(filter_capacity(problem_.grid.tile_rows), budget),
        row_(problem_.rows.dim(), budget),
        column_(problem_.rows.dim(), budget) {}

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

    FilterStrip strip;
    strip.rows = shared_.rows().panels();
    strip.columns = shared_.columns.panels();
    strip.first_row = t.first_row;
    strip.row_count = t.rows;
    strip.first_column = t.first_column;
    strip.column_count = t.columns;
    strip.dim = problem_.rows.dim();
    strip.row_half = shared_.rows().halves();
    strip.column_half = shared_.columns.halves();
    strip.row_threshold = row_thresholds;
    strip.column_threshold = column_thresholds;
    strip.square = problem_.grid.square;
    strip.survivors = survivors_.data();
    strip.capacity = survivors_.size();
    for (std::int64_t panel = 0; panel * kFilterPanel < t.first_column + t.columns;) {
      const FilterProgress done = tile_.run(strip, panel);
      panel = done.next_column_panel;
      evaluate(t, row_cutoffs, column_cutoffs, done.survivors, lists);
    }
  }

 private:
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

  // Canonical keys of the survivors, which are then offered as in the direct engine.
  void evaluate(const Tile& t, const double* row_cutoffs, const double* column_cutoffs, std::int64_t count,
                DirectWorker& lists) {
    const std::int64_t dim = problem_.rows.dim();
    std::int64_t kept = 0, loaded = -1;
    for (std::int64_t s = 0; s < count; ++s) {
      const FilterSurvivor& pair = survivors_[s];
      const std::int64_t i = t.first_row + pair.row, j = t.first_column + pair.column;
      if (i != loaded) problem_.rows.load(i, row_.data());
      loaded = i;
      problem_.columns.load(j, column_.data());
      const double key = pair_(row_.data(), column_.data(), dim, problem_.metric.p, problem_.metric.scale);
      if (!shared_.bound.holds(shared_.rows().norms(i), shared_.columns.norms(j), pair.product, key))
        ++counts_.violations;
      if (key <= row_cutoffs[pair.row] || (problem_.grid.square && key <= column_cutoffs[pair.column]))
        keys_[kept++] = {key, pair.row, pair.column};
    }
    counts_.keys += count;
    counts_.inexact = true;
    if (kept > 0) lists.offer(t, t.first_row, t.rows, {keys_.data(), static_cast<std::size_t>(kept)});
  }

  const Fp32Filter& shared_;
  const CpuProblem& problem_;
  const FilterTile& tile_;
  PairFunction* pair_;
  Buffer<float> thresholds_;
  Buffer<FilterSurvivor> survivors_;
  Buffer<Survivor> keys_;
  Buffer<double> row_, column_;  // transformed rows of a pair
};

std::unique_ptr<TileFilterWorker> Fp32Filter::worker(Budget* budget) const {
  return std::make_unique<Fp32Worker>(*this, budget);
}

}  // namespace

bool fp32_filter_can_run(const Metric& metric, std::int64_t dim) {
  return (metric.term == Term::squared_difference || metric.term == Term::product) && dim <= kLargestFilterDim;
}

std::unique_ptr<TileFilter> make_fp32_filter(const CpuProblem& problem, Budget* budget, Monitor& monitor) {
  return std::make_unique<Fp32Filter>(problem, budget, monitor);
}

std::int64_t fp32_filter_bytes(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim) {
  return 4 * (panels_over(tile_rows) + panels_over(tile_cols)) + 16 * dim +
         filter_capacity(tile_rows) * static_cast<std::int64_t>(sizeof(FilterSurvivor) + sizeof(Survivor));
}

}  // namespace libknng
