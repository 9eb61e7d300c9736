#include "backend/cpu/integer_filter.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "backend/cpu/integer_tile.h"
#include "prepare/integer_operands.h"

namespace libknng {
namespace {

constexpr std::int32_t kTakesNothing = std::numeric_limits<std::int32_t>::min();

class IntegerFilter final : public TileFilter {
 public:
  IntegerFilter(const CpuProblem& p, Budget* budget, Monitor& monitor)
      : problem(p),
        columns(p.metric, p.columns, p.columns.dtype(), p.team, budget, monitor),
        sample_(p.columns.rows(), IntegerOperands::groups(p.columns.dim()), columns.signed_panels(),
                columns.column_parts(), budget) {
    if (!p.grid.square) queries_.emplace(p.metric, p.rows, p.rows.dtype(), p.team, budget, monitor);
  }

  std::unique_ptr<TileFilterWorker> worker(Budget* budget) const override;
  std::int64_t survivor_cost() const noexcept override { return 4; }

  const ColumnSample& sample() const noexcept override { return sample_; }

  const IntegerOperands& rows() const noexcept { return queries_ ? *queries_ : columns; }

  const CpuProblem& problem;
  const IntegerOperands columns;

 private:
  ColumnSample sample_;
  std::optional<IntegerOperands> queries_;
};

class IntegerWorker final : public TileFilterWorker {
 public:
  IntegerWorker(const IntegerFilter& shared, Budget* budget)
      : shared_(shared),
        problem_(shared.problem),
        tile_(integer_tile()),
        cutoffs_(panels_over(problem_.grid.tile_rows) + panels_over(problem_.grid.tile_cols), budget),
        survivors_(filter_capacity(problem_.grid.tile_rows), budget),
        keys_(filter_capacity(problem_.grid.tile_rows), budget) {}

  void run(const Tile& t, const double* row_cutoffs, const double* column_cutoffs, DirectWorker& lists) override {
    const IntegerOperands& columns = shared_.columns;
    const bool square = problem_.grid.square;
    std::int32_t* of_rows = cutoffs_.data();
    std::int32_t* of_columns = of_rows + panels_over(t.rows);
    set_cutoffs(t.first_row, t.rows, row_cutoffs, of_rows);
    set_cutoffs(t.first_column, square ? t.columns : 0, column_cutoffs, of_columns);
    if (!square) std::fill_n(of_columns, panels_over(t.columns), kTakesNothing);

    IntegerStrip strip = strip_of(t.first_row, t.rows, of_rows, of_columns);
    strip.columns = columns.signed_panels();
    strip.column_part = columns.column_parts();
    strip.first_column = t.first_column;
    strip.column_count = t.columns;
    strip.square = square;
    for (std::int64_t panel = 0; panel * kFilterPanel < t.first_column + t.columns;) {
      const IntegerProgress done = tile_(strip, panel);
      panel = done.next_column_panel;
      for (std::int64_t s = 0; s < done.survivors; ++s)
        keys_[s] = {static_cast<double>(survivors_[s].key), survivors_[s].row, survivors_[s].column};
      counts_.keys += done.survivors;
      if (done.survivors > 0) lists.offer(t, t.first_row, {keys_.data(), static_cast<std::size_t>(done.survivors)});
    }
  }

  void rank_sample(std::int64_t first_row, std::int64_t count, const DirectWorker& lists, SampleRanks& ranks) override {
    const ColumnSample& sample = shared_.sample();
    std::int32_t* of_rows = cutoffs_.data();
    std::int32_t* of_columns = of_rows + kFilterPanel;
    std::fill_n(of_rows, 2 * kFilterPanel, kTakesNothing);
    IntegerStrip strip = strip_of(first_row, count, of_rows, of_columns);
    strip.columns = sample.panels<std::int8_t>();
    strip.column_part = sample.parts<std::int32_t>();
    for (std::int64_t panel = 0; panel * kFilterPanel < sample.size(); ++panel) {
      strip.first_column = panel * kFilterPanel;
      strip.column_count = std::min(kFilterPanel, sample.size() - strip.first_column);
      for (std::int64_t i = 0; i < count; ++i)
        of_rows[i] = ranks.limit(i) < 0x1p31f ? static_cast<std::int32_t>(ranks.limit(i))
                                              : std::numeric_limits<std::int32_t>::max();
      const IntegerProgress done = tile_(strip, panel);
      for (std::int64_t s = 0; s < done.survivors; ++s) {
        const IntegerSurvivor& pair = survivors_[s];
        const std::int64_t place = strip.first_column + pair.column;
        if (!lists.dropped(first_row + pair.row, sample.id(place)))
          ranks.add(pair.row, static_cast<float>(pair.key), place);
      }
    }
  }

 private:
  IntegerStrip strip_of(std::int64_t first_row, std::int64_t count, const std::int32_t* of_rows,
                        const std::int32_t* of_columns) {
    IntegerStrip strip;
    strip.rows = shared_.rows().unsigned_panels();
    strip.row_part = shared_.rows().row_parts();
    strip.first_row = first_row;
    strip.row_count = count;
    strip.groups = IntegerOperands::groups(problem_.rows.dim());
    strip.twice = problem_.metric.term != Term::product;
    strip.row_cutoff = of_rows;
    strip.column_cutoff = of_columns;
    strip.survivors = survivors_.data();
    strip.capacity = survivors_.size();
    return strip;
  }

  // By place from the start of the block's first panel. Keys are integers of 31 bits, and so are finite cut-offs.
  static void set_cutoffs(std::int64_t first, std::int64_t count, const double* cutoffs, std::int32_t* out) {
    std::fill_n(out, panels_over(count), kTakesNothing);
    out += first % kFilterPanel;
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::int32_t>(cutoffs[i]);
  }

  const IntegerFilter& shared_;
  const CpuProblem& problem_;
  IntegerFunction* tile_;
  Buffer<std::int32_t> cutoffs_;
  Buffer<IntegerSurvivor> survivors_;
  Buffer<Survivor> keys_;
};

std::unique_ptr<TileFilterWorker> IntegerFilter::worker(Budget* budget) const {
  return std::make_unique<IntegerWorker>(*this, budget);
}

}  // namespace

bool integer_filter_can_run(const Metric& metric, std::int32_t dtype, std::int64_t dim) {
  return integer_tile() && metric.transform == Transform::identity &&
         (dtype == KNNG_U8 || dtype == KNNG_I8 || dtype == KNNG_BOOL) &&
         (metric.term == Term::squared_difference || metric.term == Term::product) &&
         dim <= IntegerOperands::kLargestDim;
}

std::unique_ptr<TileFilter> make_integer_filter(const CpuProblem& problem, Budget* budget, Monitor& monitor) {
  return std::make_unique<IntegerFilter>(problem, budget, monitor);
}

std::int64_t integer_filter_bytes(std::int64_t tile_rows, std::int64_t tile_cols) {
  return 4 * (panels_over(tile_rows) + panels_over(tile_cols)) +
         filter_capacity(tile_rows) * static_cast<std::int64_t>(sizeof(IntegerSurvivor) + sizeof(Survivor));
}

}  // namespace libknng
