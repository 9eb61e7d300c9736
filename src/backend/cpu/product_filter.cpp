#include "backend/cpu/product_filter.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "backend/cpu/bf16_probe.h"
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
        columns(p.metric, p.columns, frame, bound, arithmetic.type, p.team, budget, monitor),
        sample_(p.columns.rows(), FilterOperands::depth(p.rows.dim(), arithmetic.type), columns.panels(),
                columns.halves(), budget) {
    if (!p.grid.square) queries_.emplace(p.metric, p.rows, frame, bound, arithmetic.type, p.team, budget, monitor);
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
        row_keys_(direct_tiles().front()->row_keys[static_cast<int>(shared.problem.metric.term)]),
        float_row_keys_(direct_tiles().front()->float_row_keys[static_cast<int>(shared.problem.metric.term)]),
        thresholds_(panels_over(problem_.grid.tile_rows) + panels_over(problem_.grid.tile_cols), budget),
        survivors_(filter_capacity(problem_.grid.tile_rows), budget),
        keys_(filter_capacity(problem_.grid.tile_rows), budget),
        by_row_(filter_capacity(problem_.grid.tile_rows), budget),
        row_ends_(problem_.grid.tile_rows + 1, budget) {}

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

  // Canonical keys of the survivors, which are then offered as in the direct engine.
  void evaluate(const Tile& t, const double* row_cutoffs, const double* column_cutoffs, std::int64_t count,
                DirectWorker& lists) {
    evaluate_keys(t, count, lists);
    std::int64_t kept = 0;
    for (std::int64_t s = 0; s < count; ++s) {
      const FilterSurvivor& pair = survivors_[s];
      const double key = keys_[s].key;
      if (!shared_.bound.holds(shared_.rows().norms(t.first_row + pair.row),
                               shared_.columns.norms(t.first_column + pair.column), pair.product, key))
        ++counts_.violations;
      if (key <= row_cutoffs[pair.row] || (problem_.grid.square && key <= column_cutoffs[pair.column]))
        keys_[kept++] = {key, pair.row, pair.column};
    }
    counts_.keys += count;
    counts_.inexact = true;
    if (kept > 0) lists.offer(t, t.first_row, {keys_.data(), static_cast<std::size_t>(kept)});
  }

  // keys_[s] for each survivor s, row by row: a row meets several columns at once.
  void evaluate_keys(const Tile& t, std::int64_t count, DirectWorker& lists) {
    std::fill_n(row_ends_.begin(), t.rows + 1, 0);
    for (std::int64_t s = 0; s < count; ++s) ++row_ends_[survivors_[s].row + 1];
    for (std::int64_t i = 0; i < t.rows; ++i) row_ends_[i + 1] += row_ends_[i];
    // From here on row_ends_[i] runs from the start of the row's survivors to their end.
    for (std::int64_t s = 0; s < count; ++s) by_row_[row_ends_[survivors_[s].row]++] = static_cast<std::int32_t>(s);
    for (std::int64_t at = 0; at < count;) {
      const std::int32_t row = survivors_[by_row_[at]].row;
      const std::int64_t some = std::min<std::int64_t>(row_ends_[row] - at, kBatch);
      evaluate_row(t, row, {by_row_.data() + at, static_cast<std::size_t>(some)}, lists);
      at += some;
    }
  }

  void evaluate_row(const Tile& t, std::int32_t row, std::span<const std::int32_t> some, DirectWorker& lists) {
    const std::int64_t dim = problem_.rows.dim(), count = std::ssize(some);
    std::array<double, kBatch> keys;
    std::array<const float*, kBatch> stored;
    const float* u = problem_.rows.floats(t.first_row + row);
    bool as_stored = u != nullptr;
    for (std::size_t c = 0; c < some.size(); ++c) {
      stored[c] = problem_.columns.floats(t.first_column + survivors_[some[c]].column);
      as_stored = as_stored && stored[c] != nullptr;
    }
    if (as_stored) {
      float_row_keys_(u, stored.data(), count, dim, problem_.metric.scale, keys.data());
    } else {
      std::array<const double*, kBatch> canonical;
      for (std::size_t c = 0; c < some.size(); ++c) canonical[c] = lists.column(t, survivors_[some[c]].column);
      row_keys_(lists.row(t, row), canonical.data(), count, dim, problem_.metric.scale, keys.data());
    }
    for (std::size_t c = 0; c < some.size(); ++c) keys_[some[c]].key = keys[c];
  }

  static constexpr std::size_t kBatch = 32;

  const ProductFilter& shared_;
  const CpuProblem& problem_;
  const FilterTile& tile_;
  RowKeysFunction<double>* row_keys_;
  RowKeysFunction<float>* float_row_keys_;
  Buffer<float> thresholds_;
  Buffer<FilterSurvivor> survivors_;
  Buffer<Survivor> keys_;
  Buffer<std::int32_t> by_row_;  // survivors in the order of their rows
  Buffer<std::int32_t> row_ends_;
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

ProductArithmetic proven_arithmetic(const ProductArithmetic& wanted, Monitor& monitor) {
  if (wanted.type != OperandType::bf16) return wanted;
  const std::string objection = known_objection_to_bf16(*wanted.tile);
  if (objection.empty()) return wanted;
  monitor.log_once(1, "cpu: this is not used: " + objection);
  return fp32_arithmetic();
}

std::unique_ptr<TileFilter> make_product_filter(const CpuProblem& problem, std::int64_t k, Budget* budget,
                                                Monitor& monitor) {
  FilterFrame frame = FilterFrame::of(problem.metric, problem.columns, problem.rows, problem.team, budget, monitor);
  ProductArithmetic arithmetic = proven_arithmetic(fastest_arithmetic(problem.rows.dim()), monitor);
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
         filter_capacity(tile_rows) * static_cast<std::int64_t>(sizeof(FilterSurvivor) + sizeof(Survivor) + 4) +
         4 * (tile_rows + 1);
}

}  // namespace libknng
