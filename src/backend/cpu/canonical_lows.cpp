#include <algorithm>
#include <cfloat>
#include <limits>

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/tile_lows.h"
#include "refine/bound.h"

namespace libknng {
namespace {

class CanonicalLows final : public TileLows {
 public:
  explicit CanonicalLows(const CpuProblem& problem) : problem_(problem), tile_(*direct_tiles().front()) {}

  const float* write(const Tile& t, DirectWorkspace& space, float* buffer, std::int64_t stride) const override {
    pack(problem_.rows, t.first_row, t.rows, space.row.data(), space.rows.data());
    pack(problem_.columns, t.first_column, t.columns, space.row.data(), space.columns.data());
    for (std::int64_t first = 0; first < t.rows; first += space.strip_rows) {
      const std::int64_t rows = std::min(space.strip_rows, t.rows - first);
      const std::int64_t padded_rows = round_up(rows, kPanelRows), padded_columns = round_up(t.columns, kPanelRows);
      std::fill_n(space.cutoffs.data(), padded_rows + padded_columns, std::numeric_limits<double>::infinity());
      DirectStrip strip;
      strip.rows = space.rows.data() + first / kPanelRows * panel_size(problem_.rows.dim(), tile_.lanes);
      strip.columns = space.columns.data();
      strip.row_count = rows;
      strip.column_count = t.columns;
      strip.dim = problem_.rows.dim();
      strip.p = problem_.metric.p;
      strip.scale = problem_.metric.scale;
      strip.row_cutoffs = space.cutoffs.data();
      strip.column_cutoffs = space.cutoffs.data() + padded_rows;
      strip.row_directionless = strip.column_directionless = nullptr;  // somebody else's
      if (problem_.grid.square) strip.diagonal = t.first_row + first - t.first_column;
      strip.survivors = space.survivors.data();
      const std::int64_t count = tile_.run[static_cast<int>(problem_.metric.term)](strip);
      for (const Survivor* s = strip.survivors; s < strip.survivors + count; ++s)
        buffer[(first + s->row) * stride + s->column] = round_down(s->key);
    }
    return buffer;
  }

  // round_down() is monotone. -inf would refuse keys below the range of fp32.
  float cut(double cutoff) const override { return std::max(round_down(cutoff), -FLT_MAX); }

  bool holds(std::int64_t, std::int64_t, float low, double key) const override { return low == round_down(key); }

  bool inexact() const noexcept override { return false; }
  double keys(double pairs) const noexcept override { return pairs; }

 private:
  void pack(const CanonicalRows& points, std::int64_t first, std::int64_t count, double* u, double* panels) const {
    const std::int64_t dim = points.dim(), size = panel_size(dim, tile_.lanes);
    for (std::int64_t i = 0; i < round_up(count, kPanelRows); ++i) {
      if (i < count)
        points.load(first + i, u);
      else
        std::fill_n(u, dim, 0.0);  // fills the last panel; its pairs are dropped by index
      tile_.pack(u, dim, i % kPanelRows, panels + i / kPanelRows * size);
    }
  }

  const CpuProblem& problem_;
  const DirectTile& tile_;
};

}  // namespace

std::unique_ptr<TileLows> make_canonical_lows(const CpuProblem& problem) {
  return std::make_unique<CanonicalLows>(problem);
}

}  // namespace libknng
